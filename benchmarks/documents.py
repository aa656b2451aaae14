"""How fast documents are read on one core: each format, and beside `html.parser`.

Files of `--size` MB are generated in a temporary folder. A word of English text takes some six
characters with its space, so that 1 MB/s is some 170,000 tokens/s.

    .venv/bin/python benchmarks/documents.py [--size 20]
"""

import argparse
import gzip
import html
import json
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import zstandard

from parcast.applications.text.documents.document import DocumentReading
from parcast.applications.text.documents.items import work_items
from parcast.applications.text.documents.offsets import TextBuilder, add_plain
from parcast.applications.text.documents.reading import read_documents
from parcast.applications.text.documents.sources import original_text

RUNS = 3
WORDS = re.findall(
    r"\w+",
    "the a of and to in model time system method result parallel large processor data new "
    "rate high market company year share price total net loss profit bank oil trade that for "
    "with from which are this about other quarter analyst forecast café naïve",
)


def sentences(random_: random.Random, count: int) -> str:
    """Text wrapped at some 70 characters, with now and then a paragraph."""
    lines = []
    for _ in range(count):
        words = random_.choices(WORDS, k=12)
        lines.append(" ".join(words).capitalize() + random_.choice((".", ",", "", ".\n")))
    return "\n".join(lines)


def html_of(text: str, number: int) -> str:
    """A page with links, entities and bold text."""
    body = text.replace("é", "&eacute;").replace(
        " market ", ' <a href="/m?a=1&amp;b=2">market</a> '
    )
    paragraphs = "</p>\n<p class='plain'>".join(body.split("\n\n"))
    head = f"<html><head><title>Page {number}</title><script>var a = 1 < 2;</script></head>"
    return f"{head}<body><h1>Page {number}</h1><p>{paragraphs}</p></body></html>\n"


def xml_of(text: str, number: int) -> str:
    """A document with an identifier, in a root that is written around."""
    paragraphs = "</p>\n<p>".join(text.replace("&", "&amp;").split("\n\n"))
    return f'<doc id="x{number}"><title>Page {number}</title><p>{paragraphs}</p></doc>\n'


def sgml_of(text: str, number: int) -> str:
    """A document as in Reuters-21578."""
    head = f'<REUTERS TOPICS="YES" NEWID="{number}"><DATE>26-FEB-1987</DATE><TEXT>&#2;'
    return f"{head}\n<TITLE>PAGE {number}</TITLE><BODY>{text}\n&#3;</BODY></TEXT></REUTERS>\n"


def json_of(text: str, number: int) -> str:
    """A line with escapes."""
    return json.dumps({"id": number, "title": f"Page {number}", "body": text}) + "\n"


def write_files(folder: Path, size: int) -> dict[str, Path]:
    """Write a file of each format."""
    random_ = random.Random(1)
    texts = [sentences(random_, 40) for _ in range(200)]
    count = size // len(texts[0])
    cycle = [(texts[i % len(texts)], i + 1) for i in range(count)]
    content = {
        "text.txt": "\n\n".join(text for text, _ in cycle),
        "pages.html": "".join(html_of(text, i) for text, i in cycle),
        "many.xml": "<root>" + "".join(xml_of(text, i) for text, i in cycle) + "</root>",
        "many.sgm": "<!DOCTYPE lewis>\n" + "".join(sgml_of(text, i) for text, i in cycle),
        "many.jsonl": "".join(json_of(text, i) for text, i in cycle),
    }
    files = {}
    for name, text in content.items():
        files[name] = folder / name
        files[name].write_text(text, encoding="utf-8")
    packed = files["many.sgm"].read_bytes()
    files["many.sgm.gz"] = folder / "many.sgm.gz"
    files["many.sgm.gz"].write_bytes(gzip.compress(packed, 6))
    files["many.sgm.zst"] = folder / "many.sgm.zst"
    files["many.sgm.zst"].write_bytes(zstandard.ZstdCompressor().compress(packed))
    return files


class Reference(HTMLParser):
    """All text of HTML with its offsets, by the parser of the standard library."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.builder = TextBuilder()
        self.lines = [0, *(found.end() for found in re.finditer("\n", text))]
        self.skips = False

    def at(self) -> int:
        """Offset of the event."""
        line, column = self.getpos()
        return self.lines[line - 1] + column

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - its signature
        """Begin a paragraph, or text that does not count."""
        self.skips = tag in {"script", "style"}
        if tag in {"p", "h1", "title", "body"}:
            self.builder.paragraph()

    def handle_endtag(self, tag: str) -> None:
        """End a paragraph, or text that does not count."""
        self.skips = False
        if tag in {"p", "h1", "title", "body"}:
            self.builder.paragraph()

    def handle_data(self, data: str) -> None:
        """Add text."""
        if not self.skips:
            add_plain(self.builder, data, self.at())

    def handle_entityref(self, name: str) -> None:
        """Add a named entity."""
        at = self.at()
        self.builder.decoded(html.unescape(f"&{name};"), at, at + len(name) + 2)


def seconds(action: Callable[[], object]) -> float:
    """Median processor time of a few runs. [s]."""
    times = []
    for _ in range(RUNS):
        begin = time.process_time()
        action()
        times.append(time.process_time() - begin)
    return statistics.median(times)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, default=20.0, help="MB of text in each file")
    size = int(parser.parse_args().size * 1e6)
    reading = DocumentReading(largest=10**9)
    with tempfile.TemporaryDirectory() as folder:
        for name, path in write_files(Path(folder), size).items():
            text = original_text(path)
            taken = seconds(lambda path=path: sum(1 for _ in read_documents(path, reading)))
            runs = characters = 0
            for document in read_documents(path, reading):
                for field in document.fields:
                    runs += len(field.offsets.clean)
                    characters += field.offsets.length
            rate, share = len(text) / taken / 1e6, 12 * runs / characters
            print(f"{name:14} {rate:6.1f} M characters/s  map {share:.2f} bytes a character")
            if name == "pages.html":
                taken = seconds(lambda text=text: Reference(text).feed(text))
                print(f"{'html.parser':14} {len(text) / taken / 1e6:6.1f} M characters/s")
            if name in ("many.xml", "many.sgm", "many.jsonl"):
                taken = seconds(lambda path=path: sum(1 for _ in work_items([path], chunk=2**20)))
                rate = path.stat().st_size / taken / 1e6
                print(f"{'  work items':14} {rate:6.1f} MB/s")


if __name__ == "__main__":
    main()
