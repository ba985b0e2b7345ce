"""Uses a server with the official Python client: client.py WANTED_JSON

WANTED_JSON is {"url": ..., "token": ...} or {"command": ..., "args": [...], "env": {...}}, with
"calls": [[tool, arguments], ...] and "decision" for questions. Prints what it saw as JSON.
"""
import asyncio
import json
import sys

import httpx2
import mcp.client.streamable_http as http
import mcp_types as types
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

WANTED = json.loads(sys.argv[1])
ASKED = []


async def asked(_context, params):
    ASKED.append(params.message)
    return types.ElicitResult(action="accept", content={"decision": WANTED.get("decision", "deny")})


def streams():
    if "url" not in WANTED:
        return stdio_client(StdioServerParameters(
            command=WANTED["command"], args=WANTED["args"], env=WANTED.get("env"), cwd=WANTED.get("cwd")))
    headers = {"Authorization": f"Bearer {WANTED['token']}"} if "token" in WANTED else {}
    return http.streamable_http_client(WANTED["url"], http_client=httpx2.AsyncClient(headers=headers, timeout=60))


async def main():
    async with streams() as (read, write, *_):
        async with ClientSession(read, write, elicitation_callback=asked) as session:
            greeting = await session.initialize()
            tools = [tool.name for tool in (await session.list_tools()).tools]
            resources = [str(one.uri) for one in (await session.list_resources()).resources]
            results = []
            for name, arguments in WANTED["calls"]:
                done = await session.call_tool(name, arguments)
                text = "".join(getattr(piece, "text", "") for piece in done.content)
                results.append({"text": text, "error": bool(done.is_error)})
            print(json.dumps({"version": greeting.protocol_version, "tools": tools, "resources": resources,
                              "results": results, "asked": ASKED}))


asyncio.run(main())
