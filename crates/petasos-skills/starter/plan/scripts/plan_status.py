#!/usr/bin/env python3
"""Says how far a plan is, and what is wrong with it."""
import re
import sys

STEP = re.compile(r"^\s*[-*] \[( |x|X)\] (.+)$")
CHECK = re.compile(r"^\s+check:\s*(.+)$")


def read(text):
    goal, steps = None, []
    for number, line in enumerate(text.splitlines(), 1):
        step, check = STEP.match(line), CHECK.match(line)
        if line.startswith("#") and goal is None:
            goal = line.lstrip("# ").removeprefix("Goal:").strip()
        elif step:
            steps.append({"line": number, "done": step[1] != " ", "text": step[2].strip(), "check": None})
        elif check and steps:
            steps[-1]["check"] = check[1].strip()
    return goal, steps


def problems(goal, steps):
    found = [] if goal else ["the plan has no goal: begin with `# Goal: …`"]
    if not steps:
        found.append("the plan has no step: write `- [ ] …`")
    seen_open = None
    for step in steps:
        if not step["check"]:
            found.append(f"line {step['line']}: no `check:` for “{step['text']}”")
        if not step["done"]:
            seen_open = seen_open or step
        elif seen_open:
            found.append(f"line {step['line']}: done before line {seen_open['line']}, which is open")
    return found


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "PLAN.md"
    try:
        text = open(path, encoding="utf-8").read()
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}")
    goal, steps = read(text)
    done = sum(step["done"] for step in steps)
    print(f"goal: {goal or '(none)'}\ndone: {done} of {len(steps)}")
    following = next((step for step in steps if not step["done"]), None)
    if following:
        print(f"next: {following['text']} (line {following['line']}, check: {following['check'] or 'none'})")
    found = problems(goal, steps)
    for what in found:
        print(f"wrong: {what}")
    sys.exit(1 if found else 0)


main()
