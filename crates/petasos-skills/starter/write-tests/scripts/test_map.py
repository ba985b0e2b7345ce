#!/usr/bin/env python3
"""How a project tests, and which of its source files no test names."""
import json
import re
import sys
from pathlib import Path

SKIPPED = {".git", "node_modules", "target", "dist", "build", "vendor", ".venv", "venv", "__pycache__", ".tox"}
CODE = {".py", ".rs", ".js", ".ts", ".tsx", ".go", ".java", ".rb", ".php", ".cs"}
TEST = re.compile(r"(^|/)(tests?|spec|__tests__)/|(_test|\.test|\.spec|_spec)\.\w+$|(^|/)test_\w+\.py$")


def files(root):
    for path in sorted(root.rglob("*")):
        if path.is_file() and not SKIPPED & set(path.relative_to(root).parts):
            yield path


def commands(root):
    found = []
    if (root / "Cargo.toml").exists():
        found.append("cargo test")
    if (root / "go.mod").exists():
        found.append("go test ./...")
    package = root / "package.json"
    if package.exists():
        try:
            scripts = json.loads(package.read_text(encoding="utf-8")).get("scripts", {})
        except ValueError:
            scripts = {}
        found += [f"npm run {name}" for name in scripts if "test" in name]
    if any((root / name).exists() for name in ("pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", "conftest.py")):
        found.append("python3 -m pytest")
    for name in ("Makefile", "justfile"):
        path = root / name
        if path.exists() and re.search(r"^test\b.*:", path.read_text(encoding="utf-8", errors="replace"), re.M):
            found.append("make test" if name == "Makefile" else "just test")
    if (root / "pom.xml").exists():
        found.append("mvn test")
    if (root / "build.gradle").exists() or (root / "build.gradle.kts").exists():
        found.append("gradle test")
    return found


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    if not root.is_dir():
        sys.exit(f"{root} is no folder")
    sources, tests = [], []
    for path in files(root):
        if path.suffix in CODE:
            name = path.relative_to(root).as_posix()
            (tests if TEST.search(name) else sources).append((name, path))
    print("commands: " + (", ".join(commands(root)) or "none found"))
    print(f"source files: {len(sources)}, test files: {len(tests)}")
    words = set()
    for _, path in tests:
        words |= set(re.findall(r"\w+", path.stem + " " + path.read_text(encoding="utf-8", errors="replace")))
    inline = re.compile(r"#\[cfg\(test\)\]|if __name__ == .__main__.:\s*\n\s*unittest")
    bare = []
    for name, path in sources:
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.stem in {"__init__", "mod", "main", "lib", "index"} or inline.search(text):
            continue
        if path.stem not in words:
            bare.append((text.count("\n"), name))
    print("source files that no test names, longest first:")
    for lines, name in sorted(bare, reverse=True)[:40]:
        print(f"  {lines:5} lines  {name}")
    if not bare:
        print("  none")


main()
