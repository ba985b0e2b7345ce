"""Drives `petasos acp` with the official Python client: two sessions that must keep apart.

drive.py PROGRAM CWD_A CWD_B   prints what it saw as JSON.
"""
import asyncio
import json
import sys

import acp
from acp.schema import ClientCapabilities, FileSystemCapabilities, RequestPermissionResponse

program, cwd_a, cwd_b = sys.argv[1:4]
saw = {"stops": [], "asked": [], "text": {}, "kinds": []}


class Editor(acp.Client):
    async def request_permission(self, session_id, tool_call, options, **kwargs):
        saw["asked"].append(session_id)
        return RequestPermissionResponse.model_validate({"outcome": {"outcome": "selected", "optionId": "deny"}})

    async def session_update(self, session_id, update, **kwargs):
        kind = getattr(update, "session_update", None)
        if kind not in saw["kinds"]:
            saw["kinds"].append(kind)
        if kind == "agent_message_chunk":
            saw["text"][session_id] = saw["text"].get(session_id, "") + update.content.text


async def main():
    async with acp.spawn_agent_process(Editor(), program, "acp", cwd=cwd_a) as (agent, process):
        hello = await agent.initialize(protocol_version=1, client_capabilities=ClientCapabilities(fs=FileSystemCapabilities()))
        saw["version"] = hello.protocol_version
        first = await agent.new_session(cwd=cwd_a, mcp_servers=[])
        second = await agent.new_session(cwd=cwd_b, mcp_servers=[])
        await agent.set_session_mode(session_id=first.session_id, mode_id="accept_edits")
        for session in (first, second):
            answer = await agent.prompt(session_id=session.session_id, prompt=[acp.text_block("write")])
            saw["stops"].append(answer.stop_reason)
        saw["asked"] = ["second" if it == second.session_id else "first" for it in saw["asked"]]
        saw["text"] = [saw["text"].get(it.session_id) for it in (first, second)]
    print(json.dumps(saw))


asyncio.run(main())
