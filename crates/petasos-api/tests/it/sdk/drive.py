"""Drives the server with the official Python client, unmodified and with its defaults.

drive.py URL KEY   (KEY may not answer approvals) prints how many checks passed as JSON; a failed one ends it.
"""
import asyncio
import json
import socket
import sys
import threading
import time
import urllib.parse

import openai
from openai import AsyncOpenAI, OpenAI

url = sys.argv[1]
client = OpenAI(base_url=url)
passed = 0


def check(held, what):
    global passed
    if not held:
        raise SystemExit(f"failed: {what}")
    passed += 1


def say(text, **more):
    return client.chat.completions.create(model="petasos", messages=[{"role": "user", "content": text}], **more)


def raises(kind, call, code=None):
    try:
        call()
    except kind as error:
        check(code is None or error.code == code, f"{kind.__name__} {code}: {error}")
        return
    raise SystemExit(f"failed: no {kind.__name__}")


# Models.
check([model.id for model in client.models.list()] == ["petasos"], "models")
check(client.models.retrieve("petasos").id == "petasos", "model")

# Chat, whole and in pieces.
whole = say("hello")
check(whole.choices[0].message.content == "Grüße, 1 messages", "chat")
check(whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens, "usage")
stream = say("use a tool", stream=True, stream_options={"include_usage": True})
chunks = list(stream)
text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
check(text == "I look.\n\nthe list is done" and chunks[-1].usage.total_tokens > 0, f"stream {text!r}")
with client.chat.completions.stream(model="petasos", messages=[{"role": "user", "content": "hello"}]) as helper:
    for event in helper:
        pass
    final = helper.get_final_completion()
check(final.choices[0].message.content == "Grüße, 1 messages", "stream helper")
many = "".join(chunk.choices[0].delta.content or "" for chunk in say("many", stream=True) if chunk.choices)
check(many == "wörter 🦀 " * 1000, "a long stream")
told = say("use a tool", stream=True, extra_headers={"X-Hermes-Tool-Events": "chunk"})
check(sum(1 for chunk in told if getattr(chunk, "hermes", None)) == 2, "tool events as chunks")
picture = [{"type": "text", "text": "hello"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
check(say(picture).choices[0].finish_reason == "stop", "an image")
history = [
    {"role": "system", "content": "Be kind."},
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "a"},
    {"role": "assistant", "content": "b"},
    {"role": "user", "content": "c"},
]
check("3 messages" in client.chat.completions.create(model="petasos", messages=history).choices[0].message.content, "roles")

# Errors raise the client's own classes, and one call is one turn.
raises(openai.AuthenticationError, lambda: OpenAI(base_url=url, api_key="wrong").models.list(), "invalid_api_key")
raises(openai.NotFoundError, lambda: client.chat.completions.create(model="gpt-9", messages=history), "model_not_found")
raises(openai.BadRequestError, lambda: client.chat.completions.create(model="petasos", messages=[]), "missing_messages")
raises(openai.NotFoundError, lambda: client.embeddings.create(model="petasos", input="x"))
raises(openai.InternalServerError, lambda: say("fail"), "provider_error")
raises(openai.APIError, lambda: list(say("fail late", stream=True)), "provider_error")

# Sessions and raw headers.
raw = client.chat.completions.with_raw_response.create(model="petasos", messages=[{"role": "user", "content": "x"}])
session = raw.headers["x-hermes-session-id"]
again = say("y", extra_headers={"X-Hermes-Session-Id": session})
check("3 messages" in again.choices[0].message.content, "a session goes on")

# Responses.
first = client.responses.create(model="petasos", input="hello")
check(first.output_text == "Grüße, 1 messages" and first.status == "completed", "response")
second = client.responses.create(model="petasos", input="more", previous_response_id=first.id)
check("3 messages" in second.output_text, "a chain")
with client.responses.stream(model="petasos", input="use a tool") as helper:
    for event in helper:
        pass
    final = helper.get_final_response()
check(final.output_text == "I look.the list is done", f"response helper {final.output_text!r}")
got = client.responses.retrieve(first.id)
client.responses.delete(first.id)
raises(openai.NotFoundError, lambda: client.responses.retrieve(first.id), "response_not_found")


# Async: a stream that is left ends its turn, a deadline is a timeout.
async def together():
    speaker = AsyncOpenAI(base_url=url)
    said = [speaker.chat.completions.create(model="petasos", messages=[{"role": "user", "content": "hello"}]) for _ in range(5)]
    answers = await asyncio.gather(*said)
    check(all(answer.choices[0].message.content == "Grüße, 1 messages" for answer in answers), "at once")
    left = await speaker.chat.completions.create(
        model="petasos", messages=[{"role": "user", "content": "hang"}], stream=True, extra_headers={"X-Hermes-Session-Id": "left"}
    )
    async for chunk in left:
        if chunk.choices and chunk.choices[0].delta.content:
            break
    await left.close()
    until = time.time() + 20
    while True:
        try:
            await speaker.chat.completions.create(
                model="petasos", messages=[{"role": "user", "content": "x"}], extra_headers={"X-Hermes-Session-Id": "left"}
            )
            break
        except openai.ConflictError:
            if time.time() > until:
                raise SystemExit("failed: the turn goes on")
            await asyncio.sleep(0.05)


asyncio.run(together())
raises(openai.APITimeoutError, lambda: client.with_options(timeout=1, max_retries=0).chat.completions.create(
    model="petasos", messages=[{"role": "user", "content": "hang"}]))
# Every refusal has its class, and none of them is tried again by the client.
other = OpenAI(base_url=url, api_key=sys.argv[2])
raises(openai.PermissionDeniedError, lambda: other.get("/approvals", cast_to=object), "insufficient_scope")
once = {"Idempotency-Key": "python-1"}
check(say("hello", extra_headers=once).id == say("hello", extra_headers=once).id, "once")
raises(openai.UnprocessableEntityError, lambda: say("other words", extra_headers=once), "idempotency_mismatch")
raises(openai.BadRequestError, lambda: say("x", n=2), "unsupported_parameter")
raises(openai.BadRequestError, lambda: say("x", tools=[{"type": "function", "function": {"name": "f"}}]), "unsupported_parameter")
raises(openai.BadRequestError, lambda: say([{"type": "file", "file": {"file_id": "f"}}]), "unsupported_content_type")
raises(openai.APIStatusError, lambda: say("x", extra_headers={"Content-Type": "text/plain"}), "unsupported_media_type")
raises(openai.APIStatusError, lambda: client.get("/chat/completions", cast_to=object), "method_not_allowed")
one_try = client.with_options(max_retries=0)


async def busy():
    speaker = AsyncOpenAI(base_url=url)
    hang = [{"role": "user", "content": "hang"}]
    streams = []
    for number in range(10):
        session = {"X-Hermes-Session-Id": f"busy-{number}"}
        stream = await speaker.chat.completions.create(model="petasos", messages=hang, stream=True, extra_headers=session)
        await anext(stream)
        streams.append(stream)
    raises(openai.RateLimitError, lambda: one_try.chat.completions.create(model="petasos", messages=hang), "too_many_runs")
    await streams.pop().close()
    until = time.time() + 20
    while True:
        try:
            say("x", extra_headers={"X-Hermes-Session-Id": "busy-0"})
        except openai.ConflictError as error:
            check(error.code == "session_busy", "session_busy")
            break
        except openai.RateLimitError:
            if time.time() > until:
                raise SystemExit("failed: no place becomes free")
    for stream in streams:
        await stream.close()


asyncio.run(busy())
until = time.time() + 20
while True:
    try:
        say("hello")
        break
    except openai.RateLimitError:
        if time.time() > until:
            raise SystemExit("failed: the turns go on")

# A conversation by its name.
check("1 messages" in client.responses.create(model="petasos", input="a", conversation="talk").output_text, "a conversation")
check("3 messages" in client.responses.create(model="petasos", input="b", conversation="talk").output_text, "goes on")


# Every byte of an answer in a packet of its own.
def split(listener, host, port):
    while True:
        near, _ = listener.accept()
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        far = socket.create_connection((host, port))

        def up():
            while data := near.recv(65536):
                far.sendall(data)

        threading.Thread(target=up, daemon=True).start()
        while data := far.recv(65536):
            for at in range(len(data)):
                near.sendall(data[at : at + 1])
        near.close()


where = urllib.parse.urlparse(url)
listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=split, args=(listener, where.hostname, where.port), daemon=True).start()
slow = OpenAI(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}{where.path}")
pieces = slow.chat.completions.create(model="petasos", messages=[{"role": "user", "content": "hello"}], stream=True)
text = "".join(chunk.choices[0].delta.content or "" for chunk in pieces if chunk.choices)
check(text == "Grüße, 1 messages", f"every byte apart: {text!r}")

# The request that Open WebUI makes.
web = {
    "stream": False, "model": "petasos", "messages": [{"role": "user", "content": "hello"}], "params": {},
    "features": {"web_search": False, "image_generation": False, "code_interpreter": False}, "variables": {"{{USER_NAME}}": "Una"},
    "session_id": "abc", "chat_id": "4a2b", "id": "9f1c", "background_tasks": {"title_generation": True, "tags_generation": True},
}
check(client.post("/chat/completions", cast_to=object, body=web)["choices"][0]["message"]["content"].startswith("Grüße"), "Open WebUI")
print(json.dumps({"passed": passed}))
