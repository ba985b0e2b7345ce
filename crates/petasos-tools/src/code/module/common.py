"""Tools for this script. Every function gives what the tool gives: a dict, or text."""

import json
import os
import shlex
import socket
import threading
import time

_SOCKET = os.environ.pop("PETASOS_CODE_SOCKET", None)
_FOLDER = os.environ.pop("PETASOS_CODE_FOLDER", None)
_TOKEN = os.environ.pop("PETASOS_CODE_TOKEN", "")
_LOCAL = threading.local()
_COUNT = 0
_LOCK = threading.Lock()
_WAIT_MAX = 300


class ToolRefused(RuntimeError):
    """The call was not made: the message says why."""


def json_parse(text):
    """Parses JSON, also when control characters stand raw inside its strings."""
    return json.loads(text, strict=False)


def shell_quote(text):
    """One word for a shell."""
    return shlex.quote(str(text))


def retry(function, max_attempts=3, delay=2):
    """Calls a function until it raises nothing; the pause doubles each time."""
    for attempt in range(max_attempts):
        try:
            return function()
        except Exception:
            if attempt + 1 == max_attempts:
                raise
            time.sleep(delay * 2**attempt)


def _call(tool, args):
    args = {name: value for name, value in args.items() if value is not None}
    request = json.dumps({"tool": tool, "args": args, "token": _TOKEN})
    answer = _over_socket(request) if _SOCKET else _over_files(request)
    answer = json.loads(answer)
    if "refused" in answer:
        raise ToolRefused(answer["refused"])
    result = answer["result"]
    try:
        return json_parse(result)
    except ValueError:
        return result


def _over_socket(request):
    stream = getattr(_LOCAL, "stream", None)
    if stream is None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(_SOCKET)
        stream = _LOCAL.stream = connection.makefile("rwb")
    stream.write(request.encode("utf-8", "surrogatepass") + b"\n")
    stream.flush()
    answer = stream.readline()
    if not answer:
        raise ToolRefused("the connection to the tools was closed")
    return answer


def _over_files(request):
    global _COUNT
    if not _FOLDER:
        raise ToolRefused("this script has no connection to tools")
    with _LOCK:
        _COUNT += 1
        name = "%06d.json" % _COUNT
    draft = os.path.join(_FOLDER, "draft-" + name)
    with open(draft, "w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(request)
    os.rename(draft, os.path.join(_FOLDER, "request-" + name))
    path = os.path.join(_FOLDER, "answer-" + name)
    until, pause = time.monotonic() + _WAIT_MAX, 0.005
    while not os.path.exists(path):
        if time.monotonic() > until:
            raise ToolRefused("no answer came within %d seconds" % _WAIT_MAX)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.25)
    with open(path, encoding="utf-8") as file:
        answer = file.read()
    os.remove(path)
    return answer
