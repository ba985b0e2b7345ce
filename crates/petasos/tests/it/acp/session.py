"""Drives `petasos acp` with the official Python client: one scripted editor session.

session.py PROGRAM CWD   prints what it saw as JSON.
"""
import asyncio
import json
import os
import sys

import acp
from acp.schema import ClientCapabilities, FileSystemCapabilities, ReadTextFileResponse, RequestPermissionResponse

program, cwd = sys.argv[1:3]
note = os.path.join(cwd, "note.txt")
saw = {"stops": [], "asked": [], "text": "", "calls": {}, "users": 0}
buffers = {note: "unsaved words\n"}
permits = []
changed = asyncio.Event()


class Editor(acp.Client):
    async def request_permission(self, session_id, tool_call, options, **kwargs):
        permit = permits.pop(0) if permits else "allow_once"
        diff = next((it for it in tool_call.content or [] if it.type == "diff"), None)
        saw["asked"].append({"permit": permit, "diff": diff and [diff.old_text, diff.new_text]})
        return RequestPermissionResponse.model_validate({"outcome": {"outcome": "selected", "optionId": permit}})

    async def read_text_file(self, session_id, path, **kwargs):
        if path not in buffers:
            raise acp.RequestError.resource_not_found(path)
        return ReadTextFileResponse(content=buffers[path])

    async def write_text_file(self, session_id, path, content, **kwargs):
        buffers[path] = content

    async def session_update(self, session_id, update, **kwargs):
        kind = getattr(update, "session_update", None)
        if kind == "agent_message_chunk":
            saw["text"] += update.content.text
        if kind == "user_message_chunk":
            saw["users"] += 1
        if kind in ("tool_call", "tool_call_update") and update.status:
            saw["calls"][update.tool_call_id] = update.status
        changed.set()


async def until(found):
    while not found():
        changed.clear()
        await asyncio.wait_for(changed.wait(), 60)


async def hello(agent):
    fs = FileSystemCapabilities(read_text_file=True, write_text_file=True)
    await agent.initialize(protocol_version=1, client_capabilities=ClientCapabilities(fs=fs))


async def main():
    async with acp.spawn_agent_process(Editor(), program, "acp", cwd=cwd) as (agent, process):
        await hello(agent)
        session = (await agent.new_session(cwd=cwd, mcp_servers=[])).session_id

        async def say(words):
            answer = await agent.prompt(session_id=session, prompt=[acp.text_block(words)])
            saw["stops"].append(answer.stop_reason)

        # Read the unsaved text, edit it with consent, be refused a second edit, run a command.
        permits.extend(["allow_once", "deny", "allow_once"])
        await say("work")
        # Cancel in the middle of a stream, and in the middle of a tool.
        for found in (lambda: "begin" in saw["text"], lambda: "in_progress" in saw["calls"].values()):
            turn = asyncio.create_task(say("go"))
            await until(found)
            await agent.cancel(session_id=session)
            await turn
        fork = await agent.fork_session(session_id=session, cwd=cwd, mcp_servers=[])
        saw["forked"] = fork.session_id != session
        saw["listed"] = len((await agent.list_sessions()).sessions)
        process.kill()
        await process.wait()
    async with acp.spawn_agent_process(Editor(), program, "acp", cwd=cwd) as (agent, process):
        await hello(agent)
        before = saw["users"]
        await agent.resume_session(session_id=session, cwd=cwd, mcp_servers=[])
        saw["resumed"] = saw["users"] - before
        await agent.close_session(session_id=session)
        await agent.load_session(session_id=session, cwd=cwd, mcp_servers=[])
        saw["loaded"] = saw["users"] - before
        answer = await agent.prompt(session_id=session, prompt=[acp.text_block("again")])
        saw["stops"].append(answer.stop_reason)
    saw["buffer"] = buffers[note]
    print(json.dumps(saw))


asyncio.run(main())
