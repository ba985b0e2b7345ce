#!/usr/bin/env python3
"""What to look at first in a change: files by weight, code without tests, lines that should not stay."""
import re
import subprocess
import sys
from pathlib import PurePosixPath

LEFTOVERS = [
    ("debug output", re.compile(r"\b(console\.log|print\(|dbg!|println!|var_dump|debugger\b)")),
    ("note to oneself", re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")),
    ("conflict marker", re.compile(r"^(<<<<<<<|>>>>>>>|=======$)")),
    ("skipped test", re.compile(r"(\.only\(|\.skip\(|@pytest\.mark\.skip|#\[ignore)")),
    ("silenced check", re.compile(r"(# noqa|eslint-disable|#\[allow|@ts-ignore|type: ignore)")),
]
CODE = {".py", ".rs", ".js", ".ts", ".tsx", ".jsx", ".go", ".java", ".rb", ".c", ".cc", ".cpp", ".h", ".cs", ".php", ".sh"}


def git(*words):
    ran = subprocess.run(["git", *words], capture_output=True, text=True)
    if ran.returncode:
        sys.exit(ran.stderr.strip() or "git failed")
    return ran.stdout


def is_test(path):
    return bool(re.search(r"(^|/)(tests?|spec|__tests__)(/|$)|(_test|\.test|\.spec|_spec)\.|(^|/)test_", path))


def main():
    base = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    span = base if base == "HEAD" or ".." in base else f"{base}...HEAD"
    rows = []
    for line in git("diff", "--numstat", "--no-renames", span).splitlines():
        added, removed, path = line.split("\t", 2)
        weight = 0 if added == "-" else int(added) + int(removed)
        rows.append((weight, added, removed, path))
    if not rows:
        print("nothing changed")
        return
    rows.sort(reverse=True)
    print("files, heaviest first:")
    for _, added, removed, path in rows:
        print(f"  +{added} -{removed}  {path}")
    tests = {PurePosixPath(path).stem for *_, path in rows if is_test(path)}
    bare = [path for *_, path in rows if PurePosixPath(path).suffix in CODE and not is_test(path)]
    untested = [path for path in bare if not any(PurePosixPath(path).stem in name for name in tests)]
    if untested and len(untested) != 0:
        print("code that changed without a test of its name:")
        for path in untested:
            print(f"  {path}")
    print("added lines that should not stay:")
    path, number, found = None, 0, 0
    for line in git("diff", "--unified=0", "--no-renames", span).splitlines():
        if line.startswith("+++ "):
            path = line[6:]
        elif line.startswith("@@"):
            number = int(re.search(r"\+(\d+)", line)[1])
        elif line.startswith("+"):
            for what, pattern in LEFTOVERS:
                if pattern.search(line[1:]):
                    print(f"  {path}:{number}: {what}: {line[1:].strip()[:100]}")
                    found += 1
            number += 1
    if not found:
        print("  none")


main()
