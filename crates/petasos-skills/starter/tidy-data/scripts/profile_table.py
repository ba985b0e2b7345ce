#!/usr/bin/env python3
"""What a table holds: kinds, gaps, doubles, what does not fit."""
import collections
import csv
import re
import sys

NOTHING = {"", "na", "n/a", "nan", "null", "none", "-", "--", "?"}
KINDS = [
    ("number", re.compile(r"[-+]?(\d{1,3}([ .,']\d{3})+|\d+)([.,]\d+)?%?")),
    ("date", re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}")),
    ("yes or no", re.compile(r"(?i)true|false|yes|no")),
    ("mail address", re.compile(r"[^@\s]+@[^@\s]+\.\w+")),
    ("address", re.compile(r"https?://\S+")),
]


def table(path):
    data = open(path, "rb").read()
    for charset in ("utf-8-sig", "cp1252"):
        try:
            text = data.decode(charset)
            break
        except UnicodeDecodeError:
            continue
    else:
        text = data.decode("utf-8", "replace")
    try:
        kind = csv.Sniffer().sniff(text[:16384], ",;\t|")
    except csv.Error:
        kind = csv.excel
    return list(csv.reader(text.splitlines(), kind)), charset, kind.delimiter


def kind_of(value):
    return next((name for name, pattern in KINDS if pattern.fullmatch(value)), "text")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: profile_table.py FILE")
    try:
        rows, charset, delimiter = table(sys.argv[1])
    except OSError as error:
        sys.exit(f"{sys.argv[1]}: {error.strerror}")
    if not rows:
        sys.exit("the table is empty")
    head, body = rows[0], rows[1:]
    print(f"rows: {len(body)}, columns: {len(head)}, characters: {charset}, delimiter: {delimiter!r}")
    odd = [at for at, row in enumerate(body, 2) if len(row) != len(head)]
    if odd:
        print(f"rows with another number of cells: {len(odd)}, first in line {odd[0]}")
    for at, name in enumerate(head):
        values = [row[at].strip() for row in body if at < len(row)]
        there = [value for value in values if value.lower() not in NOTHING]
        kinds = collections.Counter(kind_of(value) for value in there)
        main_kind = kinds.most_common(1)[0][0] if kinds else "empty"
        line = f"- {name.strip() or '(no name)'}: {main_kind}, missing {len(values) - len(there)}, distinct {len(set(there))}"
        if main_kind == "number":
            numbers = [float(re.sub(r"[ ',%](?=\d{3}|$)", "", value).replace(",", ".")) for value in there
                       if kind_of(value) == "number" and re.fullmatch(r"[-+]?[\d ',]*[.,]?\d*%?", value)]
            if numbers:
                line += f", from {min(numbers):g} to {max(numbers):g}"
        elif main_kind == "date" and there:
            line += f", from {min(there)} to {max(there)}"
        elif there and len(set(there)) <= 8:
            line += ": " + ", ".join(f"{value} ({count})" for value, count in collections.Counter(there).most_common(8))
        print(line)
        for value in [value for value in there if kind_of(value) != main_kind][:3] if len(kinds) > 1 else []:
            print(f"    does not fit: {value!r}")
        if sum(value != value.strip() for row in body if at < len(row) for value in [row[at]]):
            print("    has spaces around values")
    doubles = len(body) - len({tuple(row) for row in body})
    print(f"double rows: {doubles}")


main()
