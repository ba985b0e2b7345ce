#!/usr/bin/env python3
"""Whether every claim of a note has its sources, and every source a claim."""
import re
import sys
from urllib.parse import urlsplit

SOURCE = re.compile(r"^\s*\[(\d+)\]:?\s+(\S+)(.*)$")
CLAIM = re.compile(r"^\s*[-*]\s+(.+)$")


def canonical(url):
    parts = urlsplit(url.rstrip(".,;)"))
    return (parts.netloc.lower().removeprefix("www."), parts.path.rstrip("/"), parts.query)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check_sources.py NOTES.md")
    try:
        text = open(sys.argv[1], encoding="utf-8").read()
    except OSError as error:
        sys.exit(f"{sys.argv[1]}: {error.strerror}")
    sources, claims, wrong = {}, [], []
    for number, line in enumerate(text.splitlines(), 1):
        source, claim = SOURCE.match(line), CLAIM.match(line)
        if source:
            sources[source[1]] = (number, source[2], source[3])
        elif claim:
            claims.append((number, claim[1], re.findall(r"\[(\d+)\]", claim[1])))
    used, hosts = set(), {}
    for number, claim, cited in claims:
        used |= set(cited)
        if not cited:
            wrong.append(f"line {number}: no source: {claim[:70]}")
        for one in cited:
            if one not in sources:
                wrong.append(f"line {number}: source [{one}] is not listed")
    for one, (number, url, rest) in sources.items():
        if not url.startswith(("http://", "https://")):
            wrong.append(f"line {number}: source [{one}] has no address")
        elif canonical(url) in hosts:
            wrong.append(f"line {number}: source [{one}] is the page of [{hosts[canonical(url)]}]")
        hosts.setdefault(canonical(url), one)
        if one not in used:
            wrong.append(f"line {number}: nothing uses source [{one}]")
        if not re.search(r"\b(19|20)\d\d\b", rest):
            wrong.append(f"line {number}: source [{one}] has no date")
    single = [number for number, _, cited in claims if len(set(cited)) == 1]
    print(f"claims: {len(claims)}, sources: {len(sources)}, claims with one source only: {len(single)}")
    for what in wrong:
        print(f"wrong: {what}")
    sys.exit(1 if wrong or not claims else 0)


main()
