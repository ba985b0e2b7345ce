"""Reads every saved page with three readers and prints the F1 of words for each."""
import collections
import functools
import html
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

import readability
import trafilatura


def words(text):
    """Words, case-folded; letters of scripts without blanks stand alone."""
    pieces = re.findall(r"[぀-ヿ㐀-鿿가-힯]|[^\W_぀-ヿ㐀-鿿가-힯]+", text.casefold())
    return collections.Counter(pieces)


def f1(got, wanted):
    got, wanted = words(got), words(wanted)
    both = sum((got & wanted).values())
    if not both:
        return 0.0
    precision, recall = both / sum(got.values()), both / sum(wanted.values())
    return 2 * precision * recall / (precision + recall)


def bare(markdown):
    """Markdown as the words that a reader sees: addresses are no words."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", markdown)
    text = re.sub(r"^```\w*$", "", text, flags=re.M)
    return re.sub(r"<?https?://\S+", "", text)


def untagged(fragment):
    fragment = re.sub(r"(?is)<(script|style)\b.*?</\1>", " ", fragment)
    return html.unescape(re.sub(r"<[^>]+>", " ", fragment))


def ours(program, pages):
    """What web_extract says, five pages a call, over HTTP, in a home of its own."""
    handler = functools.partial(Quiet, directory=str(pages))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}/"
    names = sorted(path.name for path in pages.iterdir() if path.suffix != ".txt")
    read = {}
    with tempfile.TemporaryDirectory() as home:
        folder = pathlib.Path(home, ".petasos")
        folder.mkdir()
        (folder / "config.yaml").write_text("security:\n  private_hosts: [127.0.0.1]\nweb:\n  js_fallback: false\n")
        for at in range(0, len(names), 5):
            some = names[at:at + 5]
            args = {"urls": [base + name for name in some], "char_limit": 500_000}
            done = subprocess.run(
                [program, "tools", "call", "web_extract", json.dumps(args)],
                capture_output=True, text=True, cwd=home,
                env={"HOME": home, "PATH": os.environ["PATH"]}, check=False,
            )
            answer = json.loads(unlabelled(done.stdout))
            for name, result in zip(some, answer["results"]):
                read[name] = result["content"] or ""
    server.shutdown()
    return read


def unlabelled(text):
    """The JSON inside the label of words from outside."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0:
        sys.exit(f"web_extract said: {text}")
    return text[start:end + 1]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def peers(page):
    source = page.read_text()
    a = trafilatura.extract(source, include_comments=False, include_tables=True) or ""
    try:
        document = readability.Document(source)
        b = document.short_title() + "\n" + untagged(document.summary())
    except Exception as error:  # what it cannot parse it does not read
        print(f"readability: {page.name}: {error}", file=sys.stderr)
        b = ""
    return a, b


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    mine = ours(program, folder)
    rows = []
    for name, text in sorted(mine.items()):
        page = folder / name
        wanted = page.with_suffix(".txt").read_text()
        a, b = peers(page)
        rows.append((name, f1(bare(text), wanted), f1(a, wanted), f1(b, wanted)))
    print(f"{'page':24} petasos trafilatura readability")
    for name, *scores in rows:
        print(f"{name:24} {scores[0]:7.3f} {scores[1]:11.3f} {scores[2]:11.3f}")
    columns = list(zip(*[row[1:] for row in rows]))
    for word, take in (("mean", lambda c: sum(c) / len(c)), ("worst", min)):
        print(f"{word:24} {take(columns[0]):7.3f} {take(columns[1]):11.3f} {take(columns[2]):11.3f}")
    held = sum(columns[0]) / len(rows) >= 0.92 and min(columns[0]) >= 0.75
    print(f"{len(rows)} pages; mean >= 0.92 and none < 0.75: {'holds' if held else 'DOES NOT HOLD'}")
    sys.exit(0 if held else 1)


main()
