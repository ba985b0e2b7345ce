"""Sends random frames to `petasos acp`, and fails at a byte that is no frame, a malformed answer, or an end.

fuzz.py PROGRAM MODEL_URL SECONDS SEED
"""
import json, os, queue, random, shutil, subprocess, sys, tempfile, threading, time

program, url, seconds, seed = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
home = tempfile.mkdtemp(prefix="acp-fuzz-")
work = os.path.join(home, "w")
os.makedirs(os.path.join(home, ".petasos"))
os.makedirs(work)
with open(os.path.join(home, ".petasos/config.yaml"), "w") as file:
    file.write(f"model:\n  provider: custom\n  base_url: {url}\n  default: double\n  api_key: sk-loopback-0123456789\napprovals:\n  mode: manual\n")
log = open(os.path.join(home, "log"), "w+")
agent = subprocess.Popen([program, "acp"], cwd=work, env={"HOME": home, "PATH": "/usr/bin:/bin"},
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
arrived, bad = queue.Queue(), []


def is_frame(frame):
    if not isinstance(frame, dict) or frame.get("jsonrpc") != "2.0":
        return False
    if "method" in frame:
        return True
    error = frame.get("error", {})
    told = "error" not in frame or (isinstance(error.get("code"), int) and isinstance(error.get("message"), str))
    return "id" in frame and ("result" in frame) != ("error" in frame) and told


def read():
    for line in agent.stdout:
        try:
            frame = json.loads(line)
        except ValueError:
            frame = None
        if not is_frame(frame):
            bad.append(line[:200])
        arrived.put(frame or {})


def send(line):
    agent.stdin.write(line.replace(b"\n", b" ") + b"\n")
    agent.stdin.flush()


def ask(name, method, params):
    send(json.dumps({"jsonrpc": "2.0", "id": name, "method": method, "params": params}).encode())
    while True:
        frame = arrived.get(timeout=120)
        if frame.get("id") == name and "method" not in frame:
            return frame


threading.Thread(target=read, daemon=True).start()
ask("hello", "initialize", {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}})
session = ask("new", "session/new", {"cwd": work, "mcpServers": []})["result"]["sessionId"]
rng = random.Random(seed)
ODD = [None, True, -1, 2**63, 1e308, "", "\0", "\u202e" * 5, [], {}, [[]] * 3, {"": {}}, "x" * 5000, session, "../..", work, "plan", "model", "custom:double"]
METHODS = ["initialize", "authenticate", "logout", "session/new", "session/load", "session/resume", "session/fork", "session/list", "session/close", "session/delete", "session/set_mode", "session/set_config_option", "session/set_model", "session/prompt", "session/cancel", "$/cancel_request", "fs/read_text_file", "_x/y", "session/update", ""]
KEYS = ["sessionId", "cwd", "mcpServers", "prompt", "modeId", "configId", "value", "cursor", "methodId", "protocolVersion", "clientCapabilities", "additionalDirectories", "requestId", "modelId", "type", "_meta"]


def value(depth=0):
    kind = rng.random()
    if depth < 3 and kind < 0.15:
        return [value(depth + 1) for _ in range(rng.randrange(4))]
    if depth < 3 and kind < 0.35:
        return {rng.choice(KEYS): value(depth + 1) for _ in range(rng.randrange(5))}
    if depth < 3 and kind < 0.45:
        return [{"type": rng.choice(["text", "image", "audio", "resource", "resource_link", "x"]), "text": rng.choice(ODD), "data": rng.choice(["AAAA", "%%", 7]), "mimeType": rng.choice(["image/png", "audio/wav", 3]), "uri": rng.choice(["file:///etc/passwd", "x:", 9]), "name": "n", "resource": value(depth + 1)}]
    return rng.choice(ODD)


def frame(number):
    if rng.random() < 0.1:
        return rng.choice([{"jsonrpc": "2.0", "id": rng.randrange(50), "result": value()}, {"jsonrpc": "2.0", "id": rng.randrange(50), "error": value()}, value()])
    method = rng.choice(METHODS)
    made = {"jsonrpc": "2.0", "method": method, "params": {rng.choice(KEYS): value() for _ in range(rng.randrange(6))}}
    if method.startswith("session") and rng.random() < 0.5:
        made["params"]["sessionId"] = "zz" if method in ("session/close", "session/delete") else session
    if rng.random() < 0.8:
        made["id"] = rng.choice([number, f"s{number}", None, {}, -number, 0])
    return made


def torn(line):
    line = bytearray(line)
    for _ in range(rng.randrange(1, 6)):
        at, kind = rng.randrange(len(line)), rng.random()
        if kind < 0.4:
            line[at] = rng.randrange(256)
        elif kind < 0.7:
            line.insert(at, rng.randrange(256))
        else:
            del line[at:at + rng.randrange(1, 9)]
        line = line or bytearray(b"x")
    return bytes(line)


sent, until = 0, time.monotonic() + seconds
while time.monotonic() < until:
    line = json.dumps(frame(sent)).encode()
    send(torn(line) if rng.random() < 0.25 else line)
    sent += 1
    while arrived.qsize() > 5000:
        arrived.get()
ask("last", "session/list", {})
agent.stdin.close()
code = agent.wait(timeout=60)
log.seek(0)
panics = log.read().count("panicked")
shutil.rmtree(home, ignore_errors=True)
print(f"seed {seed}: {sent} frames, {len(bad)} bad {bad[:2] or ''}, exit {code}, panics {panics}")
sys.exit(1 if bad or code or panics else 0)
