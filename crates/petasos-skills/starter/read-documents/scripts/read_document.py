#!/usr/bin/env python3
"""The text of a document, by the standard library alone (and pdftotext for pdf)."""
import argparse
import csv
import email
import email.policy
import html.parser
import posixpath
import re
import shutil
import subprocess
import sys
import zipfile
from xml.etree import ElementTree

MOST = 200 << 20  # bytes of one part after unpacking: a bomb ends here


def local(tag):
    return tag.rsplit("}", 1)[-1]


def part(archive, name):
    info = archive.getinfo(name)
    if info.file_size > MOST:
        sys.exit(f"{name} unpacks to {info.file_size >> 20} MB: refused")
    data = archive.read(info)
    if b"<!ENTITY" in data[:4096]:
        sys.exit(f"{name} declares entities: refused")
    return data


def tree(archive, name):
    return ElementTree.fromstring(part(archive, name))


def paragraphs(root, block, text, breaks=("br", "line-break"), tabs=("tab", "s")):
    lines = []
    for node in root.iter():
        if local(node.tag) in block:
            words = []
            for inner in node.iter():
                if local(inner.tag) in text and inner.text:
                    words.append(inner.text)
                if local(inner.tag) in text and inner is not node and inner.tail and "span" in text:
                    words.append(inner.tail)
                if local(inner.tag) in breaks:
                    words.append("\n")
                if local(inner.tag) in tabs:
                    words.append("\t")
            lines.append("".join(words))
    return "\n".join(lines)


def docx(archive):
    return [("text", paragraphs(tree(archive, "word/document.xml"), {"p"}, {"t"}))]


def numbered(archive, pattern):
    found = [(int(m[1]), m[0]) for m in (re.fullmatch(pattern, name) for name in archive.namelist()) if m]
    return [name for _, name in sorted(found)]


def pptx(archive):
    slides = numbered(archive, r"ppt/slides/slide(\d+)\.xml")
    return [(f"slide {at}", paragraphs(tree(archive, name), {"p"}, {"t"})) for at, name in enumerate(slides, 1)]


def column(reference):
    number = 0
    for letter in re.match(r"[A-Z]*", reference)[0]:
        number = number * 26 + ord(letter) - 64
    return number


def xlsx(archive):
    shared = []
    if "xl/sharedStrings.xml" in archive.namelist():
        for item in tree(archive, "xl/sharedStrings.xml"):
            shared.append("".join(node.text or "" for node in item.iter() if local(node.tag) == "t"))
    names = [node.get("name") for node in tree(archive, "xl/workbook.xml").iter() if local(node.tag) == "sheet"]
    parts = []
    for at, name in enumerate(numbered(archive, r"xl/worksheets/sheet(\d+)\.xml")):
        rows = []
        for row in (node for node in tree(archive, name).iter() if local(node.tag) == "row"):
            cells = []
            for cell in row:
                value = next((node.text or "" for node in cell if local(node.tag) == "v"), "")
                if cell.get("t") == "s" and value:
                    value = shared[int(value)]
                elif cell.get("t") == "inlineStr":
                    value = "".join(node.text or "" for node in cell.iter() if local(node.tag) == "t")
                wanted = column(cell.get("r", ""))
                while wanted > len(cells) + 1 and len(cells) < 16384:
                    cells.append("")
                cells.append(value)
            rows.append("\t".join(cells))
        parts.append((f"sheet {names[at] if at < len(names) else at + 1}", "\n".join(rows)))
    return parts


def opendocument(archive):
    root = tree(archive, "content.xml")
    tables = [node for node in root.iter() if local(node.tag) == "table"]
    if "spreadsheet" in part(archive, "mimetype").decode("ascii", "replace"):
        parts = []
        for table in tables:
            rows = []
            for row in (node for node in table.iter() if local(node.tag) == "table-row"):
                cells = []
                for cell in row:
                    again = next((int(v) for k, v in cell.attrib.items() if local(k) == "number-columns-repeated"), 1)
                    cells += ["".join(cell.itertext())] * (again if again < 1000 else 1)
                rows.append("\t".join(cells).rstrip("\t"))
            name = next((v for k, v in table.attrib.items() if local(k) == "name"), "")
            parts.append((f"sheet {name}", "\n".join(rows).rstrip("\n")))
        return parts
    return [("text", "\n".join("".join(node.itertext()) for node in root.iter() if local(node.tag) in {"p", "h"}))]


class Words(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.words, self.hidden = [], 0

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in {"script", "style", "template"}
        if tag in {"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6"}:
            self.words.append("\n")

    def handle_endtag(self, tag):
        self.hidden -= tag in {"script", "style", "template"}
        if tag in {"td", "th"}:
            self.words.append("\t")

    def handle_data(self, data):
        if self.hidden <= 0:
            self.words.append(re.sub(r"\s+", " ", data))


def web(text):
    parser = Words()
    parser.feed(text)
    lines = (line.strip() for line in "".join(parser.words).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def epub(archive):
    container = tree(archive, "META-INF/container.xml")
    path = next(node.get("full-path") for node in container.iter() if local(node.tag) == "rootfile")
    package = tree(archive, path)
    items = {node.get("id"): node.get("href") for node in package.iter() if local(node.tag) == "item"}
    order = [node.get("idref") for node in package.iter() if local(node.tag) == "itemref"]
    parts = []
    for at, one in enumerate(order, 1):
        name = posixpath.normpath(posixpath.join(posixpath.dirname(path), items[one]))
        parts.append((f"chapter {at}", web(part(archive, name).decode("utf-8", "replace"))))
    return parts


def letter(data):
    message = email.message_from_bytes(data, policy=email.policy.default)
    head = "\n".join(f"{name}: {message[name]}" for name in ("From", "To", "Date", "Subject") if message[name])
    body = message.get_body(("plain", "html"))
    text = body.get_content() if body else ""
    names = [item.get_filename() for item in message.iter_attachments()]
    if body is not None and body.get_content_type() == "text/html":
        text = web(text)
    return [("message", f"{head}\n\n{text}" + "".join(f"\n[attachment: {name}]" for name in names))]


def pdf(path):
    if not shutil.which("pdftotext"):
        sys.exit("a pdf needs pdftotext: install poppler-utils")
    ran = subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, timeout=120)
    if ran.returncode:
        sys.exit("pdftotext: " + ran.stderr.decode("utf-8", "replace").strip()[:300])
    pages = ran.stdout.decode("utf-8", "replace").split("\f")
    if not "".join(pages).strip():
        sys.exit("the pdf has no text: it is a scan, look at its pages as pictures")
    return [(f"page {at}", text) for at, text in enumerate(pages, 1) if text.strip()]


def parts_of(path):
    head = open(path, "rb").read(8)
    if head.startswith(b"%PDF"):
        return pdf(path)
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        sys.exit("an older or encrypted office file: save it as docx, xlsx or pptx first")
    if head.startswith(b"PK"):
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            for known, read in (("word/document.xml", docx), ("ppt/presentation.xml", pptx), ("xl/workbook.xml", xlsx),
                                ("META-INF/container.xml", epub), ("content.xml", opendocument)):
                if known in names:
                    return read(archive)
        sys.exit("an archive, and no document that is known")
    data = open(path, "rb").read(MOST)
    text = data.decode("utf-8-sig", "replace")
    if path.lower().endswith(".eml"):
        return letter(data)
    if path.lower().endswith((".csv", ".tsv")):
        try:
            kind = csv.Sniffer().sniff(text[:8192], ",;\t|")
        except csv.Error:
            kind = csv.excel
        return [("table", "\n".join("\t".join(row) for row in csv.reader(text.splitlines(), kind)))]
    if re.search(r"<(html|!doctype|body|p)\b", text[:2048], re.I):
        return [("page", web(text))]
    if "\0" in text[:4096]:
        sys.exit("no document that is known")
    return [("text", text)]


def main():
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("file")
    words.add_argument("--list", action="store_true", help="name the parts")
    words.add_argument("--part", type=int, help="one part, from 1")
    asked = words.parse_args()
    try:
        parts = parts_of(asked.file)
    except (OSError, KeyError, StopIteration, ElementTree.ParseError, zipfile.BadZipFile) as error:
        sys.exit(f"{asked.file}: {error}")
    if asked.list:
        for at, (name, text) in enumerate(parts, 1):
            print(f"{at}\t{name}\t{len(text)} characters")
        return
    if asked.part is not None and not 1 <= asked.part <= len(parts):
        sys.exit(f"there are parts 1 to {len(parts)}")
    chosen = parts if asked.part is None else [parts[asked.part - 1]]
    for name, text in chosen:
        print(f"## {name}\n{text}" if len(parts) > 1 else text)


main()
