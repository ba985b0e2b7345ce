"""Drives the server with the official Python client, unmodified and with its defaults.

drive.py URL   prints how many checks passed as JSON; a failed one ends it.
"""
import asyncio
import json
import sys
import time

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
print(json.dumps({"passed": passed}))
