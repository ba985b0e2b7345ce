#!/usr/bin/env python3
"""What an open chat costs: the time from a key to the screen, and processor time while a reply streams.

Each program runs in a terminal of its own (100x30) against a model on loopback that streams 100 words a
second. Keys are typed one by one into the idle chat; the time until the terminal gets the letter back is
one sample. Then a message is sent, and the processor time of the whole tree of processes is read at the
beginning and at the end of the stream. Programs take turns, so ratios hold on a busy machine and times
do not.

  PETASOS_BIN=target/release/petasos python3 scripts/peers/chat_cost.py --seconds 60 --rounds 1
  --seconds 600 is the long form; --peers petasos,codex,claude; --json FILE keeps every sample

The programs are found as peers.py says (`scripts/peers/install` brings them).
"""
import argparse
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

RATE = 100  # words a second
COLUMNS, ROWS = 100, 30
TICKS = os.sysconf("SC_CLK_TCK")
STREAM = {"seconds": 60, "began": None, "ended": None}


# ---------------------------------------------------------------- the model

def words():
    """Words for so many seconds, in paragraphs, at the pace of the clock and not of the sleeps."""
    begin = time.monotonic()
    STREAM["began"] = begin
    count = RATE * STREAM["seconds"]
    for number in range(count):
        wait = begin + number / RATE - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        yield f"word{number} " + ("\n\n" if number % 80 == 79 else "")
    STREAM["ended"] = time.monotonic()


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, body, kind="application/json"):
        data = body.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.answer(json.dumps({"object": "list", "data": [{"id": "mock-model", "object": "model"}]}))

    def do_HEAD(self):
        self.answer("")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            asked = json.loads(body)
        except ValueError:
            asked = {}
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            return self.answer(json.dumps({"input_tokens": 100}))
        long = "stream the words" in json.dumps(asked)
        pieces = words() if long else iter(["ok"])
        form = {"completions": chat, "responses": responses, "messages": messages}.get(path.rsplit("/", 1)[-1])
        if form is None:
            return self.answer("{}")
        if not asked.get("stream"):
            return self.answer(json.dumps(form(iter(["ok"]), False)))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for event in form(pieces, True):
                data = event.encode()
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            pass


def data(value, name=None):
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {value if isinstance(value, str) else json.dumps(value)}\n\n"


def chat(pieces, streams):
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    base = {"id": "c", "created": 1700000000, "model": "mock-model"}
    if not streams:
        message = {"role": "assistant", "content": "".join(pieces)}
        return {**base, "object": "chat.completion", "usage": usage,
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}

    def events():
        def chunk(delta, finish=None, **more):
            return data({**base, "object": "chat.completion.chunk", **more,
                         "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        for piece in pieces:
            yield chunk({"content": piece})
        yield chunk({}, "stop", usage=usage)
        yield data("[DONE]")
    return events()


def responses(pieces, streams):
    usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}

    def whole(text, status):
        item = {"id": "msg_1", "type": "message", "role": "assistant", "status": status,
                "content": [{"type": "output_text", "text": text, "annotations": []}]}
        return {"id": "resp_1", "object": "response", "created_at": 1700000000, "model": "mock-model",
                "status": status, "output": [item] if text else [], "usage": usage}
    if not streams:
        return whole("".join(pieces), "completed")

    def events():
        def event(kind, **more):
            return data({"type": kind, **more}, kind)
        yield event("response.created", response=whole("", "in_progress"))
        yield event("response.output_item.added", output_index=0,
                    item={"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []})
        yield event("response.content_part.added", item_id="msg_1", output_index=0, content_index=0,
                    part={"type": "output_text", "text": "", "annotations": []})
        text = []
        for piece in pieces:
            text.append(piece)
            yield event("response.output_text.delta", item_id="msg_1", output_index=0, content_index=0, delta=piece)
        done = whole("".join(text), "completed")
        yield event("response.output_text.done", item_id="msg_1", output_index=0, content_index=0, text="".join(text))
        yield event("response.output_item.done", output_index=0, item=done["output"][0])
        yield event("response.completed", response=done)
    return events()


def messages(pieces, streams):
    usage = {"input_tokens": 100, "output_tokens": 10}
    base = {"id": "msg_1", "type": "message", "role": "assistant", "model": "mock-model"}
    if not streams:
        return {**base, "content": [{"type": "text", "text": "".join(pieces)}], "stop_reason": "end_turn", "usage": usage}

    def events():
        def event(kind, **more):
            return data({"type": kind, **more}, kind)
        yield event("message_start", message={**base, "content": [], "stop_reason": None, "usage": usage})
        yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for piece in pieces:
            yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        yield event("content_block_stop", index=0)
        yield event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 10})
        yield event("message_stop")
    return events()


# ---------------------------------------------------------------- the programs

CODEX_CONFIG = """\
model = "gpt-5.5"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.mock]
name = "mock"
base_url = "@URL@/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
supports_websockets = false

[projects."@CWD@"]
trust_level = "trusted"

[analytics]
enabled = false
"""
PETASOS_CONFIG = """\
model:
  default: mock-model
  provider: custom
  base_url: @URL@/v1
  api_key: mock-key
  context_length: 200000
"""
CLAUDE_STATE = json.dumps({
    "hasCompletedOnboarding": True, "theme": "dark", "bypassPermissionsModeAccepted": True,
    "customApiKeyResponses": {"approved": ["mock-key-0123456789ab"[-20:]], "rejected": []},
    "projects": {"@CWD@": {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
})
PROGRAMS = {
    "petasos": {
        "bin": ["PETASOS_BIN", "petasos"], "argv": ["@BIN@"], "version": ["@BIN@", "--version"],
        "env": {"PETASOS_HOME": "@HOME@/.petasos"}, "files": {"@HOME@/.petasos/config.yaml": PETASOS_CONFIG}},
    "codex": {
        "bin": ["CODEX_BIN", "codex"], "argv": ["@BIN@"], "version": ["@BIN@", "--version"],
        "env": {"CODEX_HOME": "@HOME@/.codex", "MOCK_KEY": "mock-key"},
        "files": {"@HOME@/.codex/config.toml": CODEX_CONFIG},
        # It may begin with an offer of a newer model.
        "first": b"\x1b"},
    "claude": {
        "bin": ["CLAUDE_BIN", "claude"], "argv": ["@BIN@"], "version": ["@BIN@", "--version"],
        "env": {"ANTHROPIC_BASE_URL": "@URL@", "ANTHROPIC_API_KEY": "mock-key-0123456789ab",
                "CLAUDE_CONFIG_DIR": "@HOME@/.claude", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
        "files": {"@HOME@/.claude/.claude.json": CLAUDE_STATE, "@HOME@/.claude.json": CLAUDE_STATE}},
}


def found(places):
    for place in places:
        path = os.environ.get(place) or shutil.which(place)
        if path:
            return os.path.abspath(path)
    return None


class Chat:
    """A program in a terminal of its own."""

    def __init__(self, name, url):
        program = PROGRAMS[name]
        self.home = tempfile.mkdtemp(prefix="chat-cost-")
        self.cwd = os.path.join(self.home, "work")
        os.mkdir(self.cwd)
        subprocess.run(["git", "init", "-q", self.cwd], check=True)
        self.at = {"@BIN@": found(program["bin"]), "@HOME@": self.home, "@CWD@": self.cwd, "@URL@": url}
        for path, text in program["files"].items():
            path = self.put(path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(self.put(text))
        env = {"PATH": os.environ["PATH"], "HOME": self.home, "LANG": "C.UTF-8", "TERM": "xterm-256color",
               **{key: self.put(value) for key, value in program["env"].items()}}
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(self.cwd)
            os.execvpe(self.put(program["argv"][0]), [self.put(word) for word in program["argv"]], env)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.seen = b""

    def put(self, text):
        for name, value in self.at.items():
            text = text.replace(name, value or "")
        return text

    def read(self, within):
        """What the program wrote within so many seconds; empty when nothing."""
        ready, _, _ = select.select([self.terminal], [], [], within)
        if not ready:
            return b""
        try:
            got = os.read(self.terminal, 65536)
        except OSError:
            return b""
        self.seen += got
        # Programs ask where the cursor is, what colours there are, and who the terminal is.
        for question, reply in ((b"\x1b[6n", b"\x1b[3;1R"), (b"\x1b[c", b"\x1b[?62;22c"),
                                (b"\x1b]11;?", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
                                (b"\x1b]10;?", b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\")):
            for _ in range(got.count(question)):
                self.write(reply)
        return got

    def write(self, keys):
        os.write(self.terminal, keys if isinstance(keys, bytes) else keys.encode())

    def rest(self, quiet, latest):
        """Reads until nothing came for so long."""
        until = time.monotonic() + latest
        while time.monotonic() < until:
            if not self.read(quiet):
                return True
        return False

    def text(self):
        plain = re.sub(rb"\x1b(\[[0-9;?<>=]*[A-Za-z~]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][0-9A-B]|.)", b"", self.seen)
        return plain.decode(errors="replace")

    def keys(self, count):
        """Milliseconds from a key to its letter on the screen."""
        samples = []
        for number in range(count):
            letter = "abcdefghijklmnopqrstuvwxyz"[number % 26]
            while self.read(0.05):
                pass
            began = time.monotonic()
            self.write(letter)
            got = b""
            while time.monotonic() - began < 2:
                got += self.read(0.5)
                if letter.encode() in re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", got):
                    samples.append((time.monotonic() - began) * 1000)
                    break
        self.write(b"\x15" + b"\x7f" * count)
        self.rest(0.5, 5)
        return samples

    def cpu(self):
        """Seconds of processor time of the tree so far."""
        total = 0.0
        for pid in tree(self.pid):
            try:
                with open(f"/proc/{pid}/stat") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
                total += (int(fields[11]) + int(fields[12])) / TICKS
            except (OSError, IndexError):
                pass
        return total

    def end(self):
        for pid in reversed(tree(self.pid)):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        os.close(self.terminal)
        try:
            os.waitpid(self.pid, 0)
        except OSError:
            pass
        shutil.rmtree(self.home, ignore_errors=True)


def tree(root):
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            children.setdefault(parent, []).append(int(entry))
    found_, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found_.append(pid)
        waiting += children.get(pid, [])
    return found_


def measure(name, url, seconds, presses, verbose):
    chat_ = Chat(name, url)
    try:
        chat_.rest(8, 60)
        if PROGRAMS[name].get("first"):
            chat_.write(PROGRAMS[name]["first"])
            chat_.rest(4, 20)
        figures = {"program": name, "keys_ms": chat_.keys(presses)}
        # The part of the idle chat is told apart from that of the stream.
        before = (time.monotonic(), chat_.cpu())
        chat_.rest(5, 5)
        idle = (chat_.cpu() - before[1]) / (time.monotonic() - before[0])
        STREAM.update(seconds=seconds, began=None, ended=None)
        chat_.seen = b""
        chat_.write("stream the words")
        chat_.rest(0.5, 3)
        chat_.write("\r")
        until, began = time.monotonic() + 30, None
        while STREAM["began"] is None and time.monotonic() < until:
            chat_.read(0.1)
        if STREAM["began"] is None:
            raise RuntimeError("the message did not reach the model:\n" + chat_.text()[-2000:])
        began, wrote = chat_.cpu(), len(chat_.seen)
        while STREAM["ended"] is None and time.monotonic() < STREAM["began"] + seconds * 1.5 + 20:
            chat_.read(0.2)
        chat_.rest(1, 10)
        used = chat_.cpu() - began
        last = f"word{RATE * seconds - 1}"
        figures.update(idle_cpu=idle, stream_cpu_s=used, stream_s=seconds, complete=last in chat_.text(),
                       bytes=len(chat_.seen) - wrote)
        return figures
    finally:
        if verbose:
            print(chat_.text()[-3000:], file=sys.stderr)
        chat_.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default="petasos,codex,claude")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--presses", type=int, default=40)
    parser.add_argument("--json")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    names = [name for name in options.peers.split(",") if found(PROGRAMS[name]["bin"])]
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", file=sys.stderr)
    runs = []
    for number in range(options.rounds):
        for name in names:
            print(f"round {number + 1}: {name}", file=sys.stderr)
            try:
                runs.append(measure(name, url, options.seconds, options.presses, options.verbose))
            except (RuntimeError, OSError) as error:
                print(f"{name}: {error}", file=sys.stderr)
    print(f"load after: {os.getloadavg()[0]:.1f}", file=sys.stderr)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(runs, file, indent=1)
    ours = [run for run in runs if run["program"] == "petasos"]
    print("| program | key to screen, ms (median, worst) | processor while streaming | of Petasos | whole reply |")
    print("|---|---|---|---|---|")
    for name in names:
        own = [run for run in runs if run["program"] == name]
        if not own:
            continue
        keys = [sample for run in own for sample in run["keys_ms"]] or [float("nan")]
        share = statistics.median(run["stream_cpu_s"] / run["stream_s"] for run in own)
        base = statistics.median(run["stream_cpu_s"] / run["stream_s"] for run in ours) if ours else float("nan")
        whole = "yes" if all(run["complete"] for run in own) else "no"
        print(f"| {name} | {statistics.median(keys):.1f}, {max(keys):.1f} | {share * 100:.1f} % of one | "
              f"{share / base if base else float('nan'):.1f} | {whole} |")


if __name__ == "__main__":
    main()
