#!/usr/bin/env python3
"""Finds secrets in files, in what is staged, or in the history; never prints one whole."""
import argparse
import math
import os
import re
import subprocess
import sys

KNOWN = [
    ("private key", re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----")),
    ("AWS key", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("GitHub token", re.compile(r"\bgh[pousr]_[A-Za-z0-9]{30,}\b|\bgithub_pat_\w{30,}")),
    ("model provider key", re.compile(r"\bsk-(?:ant-|or-|proj-)?[A-Za-z0-9_-]{20,}")),
    ("Slack token", re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}")),
    ("Google key", re.compile(r"\bAIza[A-Za-z0-9_-]{35}\b")),
    ("Stripe key", re.compile(r"\b[rs]k_live_[A-Za-z0-9]{20,}")),
    ("bot token", re.compile(r"\b\d{8,10}:[A-Za-z0-9_-]{35}\b")),
    ("signed token", re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}")),
    ("password in an address", re.compile(r"\b[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s:@]{6,}@")),
]
NAMED = re.compile(r"(?i)(password|passwd|secret|token|api_?key|credential)[\"']?\s*[:=]\s*[\"']?([^\s\"',;]{12,})")
HARMLESS = re.compile(r"(?i)^(\$|\{|<|%|env|process\.|os\.|your|example|changeme|xxx|\*+|none|null|true|false)|\.\.\.|…|placeholder")
SKIPPED = {".git", "node_modules", "target", ".venv", "venv", "__pycache__", "dist"}


def entropy(text):
    return -sum(n / len(text) * math.log2(n / len(text)) for n in map(text.count, set(text)))


def secrets(line):
    if "secrets-check: ok" in line:
        return
    for kind, pattern in KNOWN:
        for found in pattern.finditer(line):
            if not HARMLESS.search(found[0]):
                yield kind, found[0]
    for found in NAMED.finditer(line):
        value = found[2]
        known = any(pattern.search(value) for _, pattern in KNOWN)
        if not known and not HARMLESS.search(value) and re.search(r"\d", value) and entropy(value) > 3.2:
            yield f"value of {found[1].lower()}", value


def tell(place, line, seen):
    for kind, value in secrets(line):
        if (place, value) not in seen:
            seen.add((place, value))
            print(f"{place}: {kind}: {value[:4]}… ({len(value)} characters)")


def file(path, seen):
    try:
        data = open(path, "rb").read(20 << 20)
    except OSError:
        return
    if b"\0" in data[:4096]:
        return
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        tell(f"{path}:{number}", line, seen)


def git(words, seen):
    ran = subprocess.Popen(["git", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    commit = path = ""
    for line in ran.stdout:
        if line.startswith("commit "):
            commit = line.split()[1][:10] + " "
        elif line.startswith("+++ b/"):
            path = line[6:].strip()
        elif line.startswith("+") and not line.startswith("+++"):
            tell(f"{commit}{path}", line[1:], seen)
    if ran.wait():
        sys.exit(ran.stderr.read().strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", nargs="*", default=[])
    parser.add_argument("--staged", action="store_true")
    parser.add_argument("--history", action="store_true")
    asked = parser.parse_args()
    seen = set()
    if asked.staged:
        git(["diff", "--cached", "--unified=0", "--no-color"], seen)
    if asked.history:
        git(["log", "--all", "-p", "--unified=0", "--no-color", "--format=commit %H"], seen)
    for path in asked.path or ([] if asked.staged or asked.history else ["."]):
        if os.path.isfile(path):
            file(path, seen)
        for folder, inner, names in os.walk(path):
            inner[:] = [name for name in inner if name not in SKIPPED]
            for name in sorted(names):
                file(os.path.join(folder, name), seen)
    print(f"{len(seen)} found")
    sys.exit(1 if seen else 0)


main()
