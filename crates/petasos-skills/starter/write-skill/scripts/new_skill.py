#!/usr/bin/env python3
"""Makes the folder of a new skill with a SKILL.md to fill in."""
import re
import sys
from pathlib import Path

TEXT = """---
name: {name}
description: {description}
---
# {title}

1. First step: the exact command, and what it should show.
2. …

When a step fails: what it means, and what to do.
Never: what must not be done.
"""


def main():
    if len(sys.argv) != 4:
        sys.exit('usage: new_skill.py NAME "DESCRIPTION" FOLDER')
    name, description, folder = sys.argv[1], " ".join(sys.argv[2].split()), Path(sys.argv[3])
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) or len(name) > 64:
        sys.exit("the name is made of a-z, 0-9 and single hyphens, at most 64 characters")
    if not 1 <= len(description) <= 1024:
        sys.exit("the description has 1 to 1024 characters")
    if re.search(r": |^[\[{*&!|>'\"%@`]| #", description):
        description = '"' + description.replace("\\", "\\\\").replace('"', '\\"') + '"'
    target = folder / name
    try:
        target.mkdir(parents=True)
    except FileExistsError:
        sys.exit(f"{target} is there already")
    title = name.replace("-", " ").capitalize()
    (target / "SKILL.md").write_text(TEXT.format(name=name, description=description, title=title), encoding="utf-8")
    print(target / "SKILL.md")


main()
