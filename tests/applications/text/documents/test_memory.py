"""Files of many documents are never held at once: the peak memory of a process that reads them."""

import gzip
import json
import subprocess
import sys

import pytest

PEAK = """
import sys
from parcast.applications.text.documents.document import DocumentReading
from parcast.applications.text.documents.items import work_items
from parcast.applications.text.search.tasks import Counting, SearchedDocuments
from parcast.trials.process_memory import peak_memory, reset_peak

path, *element = sys.argv[1:]
fields = None if element else ("text",)
reading = DocumentReading(document=element[0] if element else None, fields=fields)
counting = Counting(SearchedDocuments(reading, skips=False), frozenset(["rain"]))
before = peak_memory()
reset_peak()
items = work_items([path], reading)
print(sum(counting(item).documents for item in items), peak_memory() - before)
"""


def peak_of(*arguments):
    """Documents that a process has read, and by how much its resident memory rose. [B]."""
    ended = subprocess.run(
        [sys.executable, "-c", PEAK, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    documents, rise = ended.stdout.split()
    return int(documents), float(rise)


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.html"])
def test_a_file_is_read_document_by_document(tmp_path, name):
    """60 MB, of which the 16 MB in which the encoding is found are held; those packed are read."""
    path, count, long = tmp_path / name, 600, "x" * 100_000
    text, unread = (f"rain {long}", "") if name == "a.jsonl.gz" else ("rain", long)
    with gzip.open(path, "wb", 1) if name.endswith("gz") else path.open("wb") as stream:
        for i in range(count):
            record = json.dumps({"id": i, "text": text, "unread": unread})
            page = f"<article>rain<img src='{unread}'></article>"
            stream.write((page if name == "a.html" else record).encode() + b"\n")
    documents, rise = peak_of(path, *(["article"] if name == "a.html" else []))
    assert documents == count
    assert rise < 50e6
