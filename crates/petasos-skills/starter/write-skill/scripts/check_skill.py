#!/usr/bin/env python3
"""What is not as it should be in the folder of a skill."""
import os
import re
import sys
from pathlib import Path


def front(text):
    found = re.match(r"---\n(.*?)\n---\n(.*)", text, re.S)
    if not found:
        return {}, text
    fields = dict(re.findall(r"^([\w-]+):[ \t]*(.*)$", found[1], re.M))
    return {key: value.strip().strip("'\"") for key, value in fields.items()}, found[2]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check_skill.py FOLDER")
    folder = Path(sys.argv[1])
    try:
        text = (folder / "SKILL.md").read_text(encoding="utf-8")
    except OSError as error:
        sys.exit(f"{folder}/SKILL.md: {error.strerror}")
    fields, body = front(text)
    wrong = []
    name, description = fields.get("name", ""), fields.get("description", "")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) or len(name) > 64:
        wrong.append("`name` must be a-z, 0-9 and single hyphens")
    elif name != folder.resolve().name:
        wrong.append(f"`name` is {name}, the folder {folder.resolve().name}")
    if not 1 <= len(description) <= 1024:
        wrong.append("`description` must have 1 to 1024 characters")
    elif "use " not in description.lower():
        wrong.append("`description` does not say when to use it")
    if body.count("\n") > 150:
        wrong.append(f"the body has {body.count(chr(10))} lines: move tables to references/")
    if not body.strip() or "…" in body and "First step" in body:
        wrong.append("the body is not filled in")
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            wrong.append(f"{name} is a link: hubs refuse it")
        elif path.is_file() and name != "SKILL.md":
            if path.name not in body:
                wrong.append(f"{name} is never named in the body")
            if path.stat().st_size > 1 << 20:
                wrong.append(f"{name} is over 1 MB")
            if name.startswith("scripts/") and not path.read_bytes().startswith(b"#!"):
                wrong.append(f"{name} has no first line that says what runs it")
    for named in set(re.findall(r"(?:scripts|references|templates|assets)/[\w./-]+\w", body)):
        if not os.path.exists(folder / named) and "…" not in named:
            wrong.append(f"the body names {named}, which is not there")
    for line in re.findall(r"(?i)\b(?:sk-|ghp_|xox[bp]-|AKIA)[\w-]{12,}", text):
        wrong.append(f"a key stands in the text: {line[:6]}…")
    for what in wrong:
        print(f"wrong: {what}")
    print(f"{len(wrong)} remarks")
    sys.exit(1 if wrong else 0)


main()
