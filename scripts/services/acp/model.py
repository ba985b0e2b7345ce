"""A model on loopback that says what it was told: chat completions, streamed, for clients of editors.

model.py SCRIPT_JSON [--tools-only | --paced]   prints its address and answers until its input ends.
--tools-only: requests without tools (finding a title) do not use up the script. --paced: no script; a
message that ends with `long N` is answered in N pieces, any other with one word.
The script is a list of replies, used in turn; the last one is repeated:
  {"text": "..."}                      says this, a word a piece
  {"pieces": 200, "every_ms": 0}       says so many pieces
  {"calls": [["write_file", {...}]]}   asks for calls
"""
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

script = json.load(open(sys.argv[1]))
mode = sys.argv[2] if len(sys.argv) > 2 else ""
state = {"next": 0}
lock = threading.Lock()


def words(message):
    content = message.get("content")
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])


def reply(asked):
    if mode == "--paced":
        said = [words(message) for message in asked["messages"] if message["role"] == "user"]
        asks = re.search(r"long (\d+)\s*$", said[-1].strip() if said else "")
        return ({"pieces": int(asks[1])} if asks else {"text": "ok"}), 0
    with lock:
        step = script[min(state["next"], len(script) - 1)]
        state["next"] += 1
        return step, state["next"]


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.whole({"object": "list", "data": [{"id": "double", "object": "model"}]})

    def whole(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        # Side tasks, such as finding a title, ask without tools: they do not use up the script.
        step, number = ({"text": "title"}, 0) if mode == "--tools-only" and not asked.get("tools") else reply(asked)
        calls = [
            {"index": at, "id": f"call_{number}_{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for at, (name, arguments) in enumerate(step.get("calls", []))
        ]
        text = step.get("text", "")
        pieces = [f"w{at} " for at in range(step["pieces"])] if "pieces" in step else text.replace(" ", " \0").split("\0")
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        if not asked.get("stream"):
            message = {"role": "assistant", "content": "".join(pieces)}
            if calls:
                message["tool_calls"] = [{key: call[key] for key in ("id", "type", "function")} for call in calls]
            finish = "tool_calls" if calls else "stop"
            self.whole({"id": "c", "object": "chat.completion", "model": "double", "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage})
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

        def event(delta, finish=None, more=None):
            chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "double", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
            chunk.update(more or {})
            self.piece("data: " + json.dumps(chunk) + "\n\n")

        for piece in pieces if not calls else []:
            event({"role": "assistant", "content": piece})
            if step.get("every_ms"):
                time.sleep(step["every_ms"] / 1000)
        if calls:
            event({"role": "assistant", "tool_calls": calls})
        event({}, "tool_calls" if calls else "stop", {"usage": usage})
        self.piece("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def piece(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


class Server(ThreadingHTTPServer):
    def handle_error(self, *_):
        """Whoever asked went away, which a cancelled turn does."""


server = Server(("127.0.0.1", 0), Model)
server.daemon_threads = True
print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
