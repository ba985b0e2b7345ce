"""The replies of `model.py` in the words of four vendors: chat completions, responses, messages, Gemini.

Each writer takes a step of the script and gives the events of a stream: pairs of a name (or nothing)
and a value. `whole` gives the same as one value, for who does not stream.
"""
import json

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def pieces(step):
    if "pieces" in step:
        return [f"w{at} " for at in range(step["pieces"])]
    return step.get("text", "").replace(" ", " \0").split("\0")


def named(step, number):
    return [(f"call_{number}_{at}", name, arguments) for at, (name, arguments) in enumerate(step.get("calls", []))]


def chat(step, number):
    calls = [
        {"index": at, "id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for at, (id, name, arguments) in enumerate(named(step, number))
    ]

    def event(delta, finish=None, more=None):
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "double", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        return None, {**chunk, **(more or {})}

    for piece in pieces(step) if not calls else []:
        yield event({"role": "assistant", "content": piece})
    if calls:
        yield event({"role": "assistant", "tool_calls": calls})
    yield event({}, "tool_calls" if calls else "stop", {"usage": USAGE})


def whole(step, number):
    calls = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for id, name, arguments in named(step, number)
    ]
    message = {"role": "assistant", "content": "".join(pieces(step)), **({"tool_calls": calls} if calls else {})}
    finish = "tool_calls" if calls else "stop"
    return {"id": "c", "object": "chat.completion", "model": "double", "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": USAGE}


def blocks(step, number):
    calls = [{"type": "tool_use", "id": id, "name": name, "input": arguments} for id, name, arguments in named(step, number)]
    return calls or [{"type": "text", "text": "".join(pieces(step))}]


def messages(step, number):
    head = {"id": "msg", "type": "message", "role": "assistant", "model": "double", "content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1}}
    yield "message_start", {"type": "message_start", "message": head}
    for at, block in enumerate(blocks(step, number)):
        if block["type"] == "text":
            begun, deltas = {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(step)]
        else:
            begun, deltas = {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        yield "content_block_start", {"type": "content_block_start", "index": at, "content_block": begun}
        for delta in deltas:
            yield "content_block_delta", {"type": "content_block_delta", "index": at, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": at}
    stop = "tool_use" if step.get("calls") else "end_turn"
    yield "message_delta", {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"input_tokens": 10, "output_tokens": 5}}
    yield "message_stop", {"type": "message_stop"}


def whole_message(step, number):
    stop = "tool_use" if step.get("calls") else "end_turn"
    return {"id": "msg", "type": "message", "role": "assistant", "model": "double", "content": blocks(step, number), "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 5}}


def responses(step, number):
    items = [
        {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name, "arguments": json.dumps(arguments), "status": "completed"}
        for id, name, arguments in named(step, number)
    ]
    text = "".join(pieces(step))
    items = items or [{"type": "message", "id": f"m_{number}", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}]
    base = {"id": f"resp_{number}", "object": "response", "created_at": 0, "model": "double", "status": "in_progress", "output": []}
    yield "response.created", {"type": "response.created", "sequence_number": 0, "response": base}
    for at, item in enumerate(items):
        yield "response.output_item.added", {"type": "response.output_item.added", "output_index": at, "item": {**item, "status": "in_progress", **({"content": []} if "content" in item else {"arguments": ""})}}
        if "content" in item:
            for piece in pieces(step):
                yield "response.output_text.delta", {"type": "response.output_text.delta", "item_id": item["id"], "output_index": at, "content_index": 0, "delta": piece}
        yield "response.output_item.done", {"type": "response.output_item.done", "output_index": at, "item": item}
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15}
    yield "response.completed", {"type": "response.completed", "response": {**base, "status": "completed", "output": items, "usage": usage}}


def gemini_whole(step, number):
    parts = [{"functionCall": {"name": name, "args": arguments}} for _, name, arguments in named(step, number)]
    parts = parts or [{"text": "".join(pieces(step))}]
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}], "usageMetadata": usage, "modelVersion": "double"}


def gemini(step, number):
    yield None, gemini_whole(step, number)
