#!/usr/bin/env python3
"""A cleaned copy of a table, and how often each rule changed something."""
import argparse
import collections
import csv
import os
import re
import sys

NOTHING = {"na", "n/a", "nan", "null", "none", "-", "--", "?"}
SHORT = re.compile(r"(\d{1,2})[./-](\d{1,2})[./-](\d{4})")
NUMBER = re.compile(r"[-+]?\d{1,3}(?:([ .,'])\d{3})+(?:([.,])\d+)?|[-+]?\d+,\d+")


def read(path):
    data = open(path, "rb").read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    try:
        kind = csv.Sniffer().sniff(text[:16384], ",;\t|")
    except csv.Error:
        kind = csv.excel
    return list(csv.reader(text.splitlines(), kind))


def day_first(values, asked):
    """Whether the first number of short dates is the day; None when nobody can tell."""
    if asked is not None:
        return asked
    pairs = [(int(m[1]), int(m[2])) for m in map(SHORT.fullmatch, values) if m]
    first, second = any(a > 12 for a, _ in pairs), any(b > 12 for _, b in pairs)
    return None if first == second else first


def number(value):
    found = NUMBER.fullmatch(value)
    if not found:
        return value
    thousands, point = found[1], found[2]
    if thousands and thousands in ".," and point is None and value.count(thousands) == 1:
        return value  # 1.234 may be either
    if thousands:
        value = value.replace(thousands, "", value.count(thousands) - (thousands == point))
    return value.replace(",", ".")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("out")
    parser.add_argument("--keep-doubles", action="store_true")
    order = parser.add_mutually_exclusive_group()
    order.add_argument("--day-first", dest="day", action="store_true", default=None)
    order.add_argument("--month-first", dest="day", action="store_false")
    asked = parser.parse_args()
    if os.path.exists(asked.out):
        sys.exit(f"{asked.out} is there already: choose another name")
    try:
        rows = read(asked.file)
    except OSError as error:
        sys.exit(f"{asked.file}: {error.strerror}")
    if not rows:
        sys.exit("the table is empty")
    changed = collections.Counter()
    head = [re.sub(r"\W+", "_", name.strip().lower()).strip("_") or f"column_{at}" for at, name in enumerate(rows[0], 1)]
    changed["column names"] = sum(old != new for old, new in zip(rows[0], head))
    columns = [[row[at].strip() if at < len(row) else "" for row in rows[1:]] for at in range(len(head))]
    changed["spaces"] = sum(value != value.strip() for row in rows[1:] for value in row)
    for at, values in enumerate(columns):
        first = day_first(values, asked.day)
        has_short = any(SHORT.fullmatch(value) for value in values)
        if has_short and first is None:
            print(f"left alone: the dates of {head[at]} have two readings, give --day-first or --month-first")
        for line, value in enumerate(values):
            new = value
            if value.lower() in NOTHING:
                new, rule = "", "words for nothing"
            elif (short := SHORT.fullmatch(value)) and first is not None:
                day, month = (short[1], short[2]) if first else (short[2], short[1])
                new, rule = f"{short[3]}-{int(month):02}-{int(day):02}", "dates"
            elif not short:
                new, rule = number(value), "numbers"
            if new != value:
                changed[rule] += 1
                values[line] = new
    body = [list(row) for row in zip(*columns)]
    if not asked.keep_doubles:
        kept = list(dict.fromkeys(map(tuple, body)))
        changed["double rows"] = len(body) - len(kept)
        body = kept
    with open(asked.out, "x", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([head, *body])
    print(f"rows: {len(rows) - 1} in, {len(body)} out")
    for rule, count in changed.items():
        if count:
            print(f"changed by {rule}: {count}")


main()
