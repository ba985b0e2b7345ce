#!/usr/bin/env python3
"""What fills a folder. Stays on one disk, follows no link, changes nothing."""
import argparse
import collections
import hashlib
import heapq
import os
import shutil
import sys
import time

AGAIN = {"node_modules", "target", "__pycache__", ".venv", "venv", ".gradle", ".tox", ".mypy_cache", ".pytest_cache", ".next", "dist", "build", ".cache"}


def shown(size):
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000


def same(path, size):
    digest = hashlib.sha256()
    with open(path, "rb") as opened:
        while block := opened.read(1 << 20):
            digest.update(block)
    return size, digest.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--top", type=int, default=15)
    parser.add_argument("--doubles", action="store_true")
    parser.add_argument("--older", type=int, metavar="DAYS", help="files that nobody changed for so long")
    asked = parser.parse_args()
    if not os.path.isdir(asked.folder):
        sys.exit(f"{asked.folder} is no folder")
    disk = os.lstat(asked.folder).st_dev
    folders, files, again, old = collections.Counter(), [], collections.Counter(), []
    sizes, unread, links = collections.defaultdict(list), 0, set()
    now = time.time()

    def failed(_):
        nonlocal unread
        unread += 1

    for folder, inner, names in os.walk(asked.folder, onerror=failed):
        inner[:] = [name for name in inner if not os.path.islink(os.path.join(folder, name))
                    and os.lstat(os.path.join(folder, name)).st_dev == disk]
        for name in names:
            path = os.path.join(folder, name)
            try:
                about = os.lstat(path)
            except OSError:
                unread += 1
                continue
            if about.st_nlink > 1:
                if about.st_ino in links:
                    continue
                links.add(about.st_ino)
            size = about.st_blocks * 512
            files.append((size, path))
            if asked.older and now - about.st_mtime > asked.older * 86400:
                old.append((size, path))
            if about.st_size > 1 << 16 and not os.path.islink(path):
                sizes[about.st_size].append(path)
            above = os.path.relpath(folder, asked.folder).split(os.sep)
            for depth in range(len(above) + 1):
                folders["/".join(above[:depth]) or "."] += size
            made = next((at for at, part in enumerate(above) if part in AGAIN), None)
            if made is not None:
                again["/".join(above[: made + 1])] += size
    use = shutil.disk_usage(asked.folder)
    print(f"disk: {shown(use.free)} free of {shown(use.total)}; here: {shown(sum(size for size, _ in files))} in {len(files)} files")
    for title, rows in (("folders", [(size, name) for name, size in folders.items() if name != "."]), ("files", files),
                        ("can be made again", [(size, name) for name, size in again.items()]), ("old", old)):
        rows = heapq.nlargest(asked.top, rows)
        if rows:
            print(f"{title}:")
            for size, name in rows:
                print(f"  {shown(size):>9}  {name}")
    if asked.doubles:
        groups = collections.defaultdict(list)
        for size, paths in sizes.items():
            for path in paths if len(paths) > 1 else []:
                try:
                    groups[same(path, size)].append(path)
                except OSError:
                    unread += 1
        print("the same content:")
        for (size, _), paths in sorted(groups.items(), reverse=True):
            if len(paths) > 1:
                print(f"  {shown(size)} each: {', '.join(sorted(paths))}")
    if unread:
        print(f"not readable: {unread}")


main()
