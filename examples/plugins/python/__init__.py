"""A small plugin: two tools, a hook and a command. Runs under the built-in Python host."""

import json

NOTES = []
SEEN = []

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def note_add(args, **context):
    NOTES.append(args["text"])
    return json.dumps({"kept": len(NOTES), "session": context.get("session_id")})


def note_list(args, **_context):
    return json.dumps({"notes": NOTES})


def after_call(tool_name, status, **_fields):
    SEEN.append((tool_name, status))


def command(arguments):
    return f"{len(NOTES)} notes, {len(SEEN)} calls seen"


def register(ctx):
    ctx.register_tool("note_add", "notes", {"description": "Keep a note", "parameters": TEXT}, note_add)
    ctx.register_tool("note_list", "notes", {"description": "List the notes",
                                             "parameters": {"type": "object", "properties": {}}}, note_list)
    ctx.register_hook("post_tool_call", after_call)
    ctx.register_command("notes", command, description="How many notes there are")
