"""What an agent said, from the frames of a client (one JSON a line).

words.py TRACE_JSONL
"""
import json
import sys

for line in open(sys.argv[1], encoding="utf-8"):
    try:
        update = json.loads(line).get("params", {}).get("update", {})
    except (ValueError, AttributeError):
        continue
    if update.get("sessionUpdate") == "agent_message_chunk":
        print(update.get("content", {}).get("text", ""), end="")
print()
