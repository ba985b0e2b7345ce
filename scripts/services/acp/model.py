"""A model on loopback that says what it was told, in the dialect in which it is asked, for clients and
agents of editors: chat completions, responses, messages, Gemini.

model.py SCRIPT_JSON [--tools-only | --paced]   prints its address and answers until its input ends.
--tools-only: requests without tools (finding a title) do not use up the script. --paced: no script; a
message that ends with `long N` is answered in N pieces, any other with one word.
The script is a list of replies, used in turn; the last one is repeated:
  {"text": "..."}                      says this, a word a piece
  {"pieces": 200, "every_ms": 0}       says so many pieces
  {"calls": [["write_file", {...}]]}   asks for calls
What it was asked is kept beside the script, a line each (SCRIPT_JSON.asked).
"""
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import dialects

script = json.load(open(sys.argv[1]))
mode = sys.argv[2] if len(sys.argv) > 2 else ""
asked_log = open(sys.argv[1] + ".asked", "a", encoding="utf-8")
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
        self.whole({"object": "list", "data": [{"id": "double", "object": "model"}], "models": []})

    def whole(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = self.path.split("?")[0]
        try:
            asked = json.loads(body or b"{}")
        except ValueError:
            return self.whole({})
        if mode != "--paced":
            with lock:
                asked_log.write(json.dumps({"path": path, "body": asked}) + "\n")
                asked_log.flush()
        if path.endswith("count_tokens") or path.endswith(":countTokens"):
            return self.whole({"input_tokens": 10, "totalTokens": 10})
        # Side tasks, such as finding a title, ask without tools: they do not use up the script.
        step, number = ({"text": "title"}, 0) if mode == "--tools-only" and not asked.get("tools") else reply(asked)
        if path.endswith("/messages"):
            say, whole, end = dialects.messages, dialects.whole_message, None
        elif path.endswith("/responses"):
            say, whole, end = dialects.responses, None, None
        elif "GenerateContent" in path or "generateContent" in path:
            say, whole, end = dialects.gemini, dialects.gemini_whole, None
            asked["stream"] = "stream" in path
        else:
            say, whole, end = dialects.chat, dialects.whole, "data: [DONE]\n\n"
        if not asked.get("stream") and whole:
            return self.whole(whole(step, number))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, value in say(step, number):
            self.piece((f"event: {name}\n" if name else "") + "data: " + json.dumps(value) + "\n\n")
            if step.get("every_ms"):
                time.sleep(step["every_ms"] / 1000)
        if end:
            self.piece(end)
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
