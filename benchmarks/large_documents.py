"""Time and memory of features and search on files of 1 GB.

    .venv/bin/python benchmarks/large_documents.py [--size 1GB] [--ranks 2] [--files many.jsonl]
        [--tasks features,search] [--tagger large_documents:by_ending] [--memory SIZE]

Files of `--size` are generated one after the other in `--directory`: many documents as JSON Lines,
as articles of one HTML file and as JSON Lines in .gz, which is one item of work, and one text
without anything that would separate documents. Words follow Zipf's law, one phrase of each
document is its own, and some characters take two bytes. The memory of a rank is VmHWM, its peak
resident memory. "gap" is the longest time in which the number of items that are done stayed the
same. Phrases of sampled occurrences are compared with the file at their offsets.
"""

import argparse
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice
from pathlib import Path
from time import perf_counter
from typing import Any

from parcast.mpi.find import find_mpi
from parcast.mpi.launched import is_first
from parcast.units import quantity

SENTENCES = 50_000  # different ones
IN_A_DOCUMENT = 30
SAMPLED = 1000  # occurrences that are compared with the file
NOUNS, ADJECTIVES = ("tion", "ment", "er"), ("ous", "ful", "ive")
QUERY = "parallel overhead"
RANK = "rank"  # argument of a process that is a rank

Pool = list[str]


def by_ending(words: Sequence[str]) -> str:
    """Tags of the words of these files, which are known by their endings: a fast tagger."""
    return "".join(
        "N" if x.endswith(NOUNS) else "J" if x.endswith(ADJECTIVES) else "X" for x in words
    )


def sentences() -> Pool:
    """Sentences of words whose frequencies follow Zipf's law."""
    random_ = random.Random(7)
    syllables = [a + b for a in "bdfgklmnprstv" for b in ("a", "e", "i", "o", "ul", "är", "en")]

    def words(count: int, endings: Iterable[str]) -> Iterator[str]:
        made = [
            "".join(random_.choices(syllables, k=random_.randint(2, 3)))
            + random_.choice(list(endings))
            for _ in range(count)
        ]
        weights = list(accumulate(1 / (i + 1) for i in range(count)))
        while True:
            yield from random_.choices(made, cum_weights=weights, k=1000)

    nouns, adjectives = words(20_000, NOUNS), words(4000, ADJECTIVES)
    frames = (
        "The {a} {n} of the {n} limits every {n}.",
        "A {n} {n} waits for {a} {n}, and its {n} is idle.",
        "In {y} the {a} {a} {n} was measured with the {n} of a {n}.",
        "It is the {n} that costs time: {a} {n} and {n}.",
    )
    kinds = {"n": nouns, "a": adjectives}

    def filled(frame: str) -> str:
        return re.sub(
            r"\{(.)\}",
            lambda x: str(random_.randint(1950, 2030)) if x[1] == "y" else next(kinds[x[1]]),
            frame,
        )

    return [filled(random_.choice(frames)) for _ in range(SENTENCES)]


def documents(pool: Pool) -> Iterator[tuple[int, str]]:
    """Documents without end, each with its number; each thousandth answers the query."""
    random_ = random.Random(8)
    number = 0
    while True:
        number += 1
        own = f"The run series{number} failed."
        if number % 1000 == 0:
            own += " Its parallel overhead was large."
        yield number, " ".join([own, *random_.choices(pool, k=IN_A_DOCUMENT)])


def json_line(number: int, text: str) -> str:
    """A document as a line of JSON Lines."""
    return json.dumps({"id": number, "body": text}, ensure_ascii=False) + "\n"


def article(number: int, text: str) -> str:
    """A document as an article of a page."""
    body = text.replace("ä", "&auml;")
    return f'<article id="a{number}"><h1>Run {number}</h1><p>{body}</p></article>\n'


def paragraph(_: int, text: str) -> str:
    """A document as a paragraph of plain text."""
    return f"{text}\n\n"


FILES = {
    "many.jsonl": (json_line, "", ()),
    "many.html": (article, "<!DOCTYPE html><html><body>\n", ("article", "id")),
    "many.jsonl.gz": (json_line, "", ()),
    "one.txt": (paragraph, "", ()),
}


def write(path: Path, size: float) -> int:
    """Write a file of some bytes of text; give the number of documents."""
    form, head, _ = FILES[path.name]
    left, count = size, 0
    with gzip.open(path, "wb", 1) if path.suffix == ".gz" else path.open("wb") as stream:
        stream.write(head.encode())
        for number, text in documents(sentences()):
            written = form(number, text).encode()
            left -= stream.write(written)
            count += 1
            if left <= 0:
                return count
    raise AssertionError


def run_rank(task: str, path: str, output: str, tagger: str, memory: str) -> None:
    """Run the task on this rank, and say how it was, in a line of JSON."""
    from parcast.applications.text.documents.document import DocumentReading
    from parcast.applications.text.features.extract import extract_features
    from parcast.applications.text.features.task import Features
    from parcast.applications.text.search.search_documents import search_documents
    from parcast.errors import ParcastError
    from parcast.trials.process_memory import peak_memory

    element = FILES[Path(path).name][2]
    reading = (
        DocumentReading(document=element[0], identifier=element[1])
        if element
        else DocumentReading()
    )
    seen, gap, begun = (0, perf_counter()), 0.0, perf_counter()

    def progress(done: int, *_: object) -> None:
        nonlocal seen, gap
        if done != seen[0]:
            gap, seen = max(gap, perf_counter() - seen[1]), (done, perf_counter())

    run: dict[str, Any] = {"progress": progress} if is_first() else {}
    if memory:
        run["memory"] = quantity(memory, "size", name="--memory")
    said: dict[str, Any] = {}
    try:
        if task == "features":
            settings = Features(tagger=tagger, reading=reading)
            found = extract_features(path, settings=settings, outputs=[output], **run)
            if found.run.is_root:
                totals = found.totals
                said = {"documents": totals.documents, "tokens": totals.tokens}
                said["phrases"] = sum(part.phrases for part in found.parts)
                said["occurrences"] = sum(part.occurrences for part in found.parts)
        else:
            hits = search_documents(path, QUERY, reading=reading, **run)
            if hits.is_root:
                said = {"documents": hits.documents, "words": hits.words}
                said["hits"] = len(hits.queries[0].hits)
    except ParcastError as refusal:
        said = {"refused": str(refusal)}
    said |= {"seconds": perf_counter() - begun, "gap": gap, "peak": peak_memory()}
    said_of_rank = json.dumps({"first": is_first(), **said})
    Path(f"{output}-{os.getpid()}.said").write_text(said_of_rank, encoding="utf-8")


def compared(path: Path, output: Path) -> int:
    """Compare sampled occurrences with the file; give the number of all."""
    import pyarrow.parquet as pq

    from parcast.applications.text.documents.sources import text_blocks

    random_ = random.Random(9)
    chosen: list[tuple[int, int, str]] = []
    count = 0
    for batch in pq.ParquetFile(output).iter_batches(4096, columns=["phrase", "start", "stop"]):
        for row in batch.to_pylist():
            count += len(row["start"])
            i = random_.randrange(len(row["start"]))
            chosen.append((row["start"][i], row["stop"][i], row["phrase"]))
    sample = iter(sorted(random_.sample(chosen, min(SAMPLED, len(chosen)))))
    start, stop, phrase = next(sample)
    held, begin = "", 0
    for block in text_blocks(str(path), "utf-8"):
        held += block
        while stop <= begin + len(held):
            got = " ".join(held[start - begin : stop - begin].split()).casefold()
            assert got == phrase, f"{got!r} stands at {start}, not {phrase!r}"
            following = next(sample, None)
            if following is None:
                return count
            start, stop, phrase = following
        cut = max(min(start - begin, len(held)), 0)
        held, begin = held[cut:], begin + cut
    raise AssertionError(f"{phrase!r} lies beyond the file, at {start}")


def measure(path: Path, task: str, ranks: int, tagger: str, memory: str) -> None:
    """Run a task on ranks and print a row."""
    output = path.with_name("features.parquet")
    command = [sys.executable, __file__, RANK, task, str(path), str(output), tagger, memory]
    if ranks > 1:
        command = [find_mpi().mpiexec, "-n", str(ranks), *command]
    subprocess.run(command, check=True)
    said = sorted(path.parent.glob(f"{output.name}-*.said"))
    rows = [json.loads(each.read_text(encoding="utf-8")) for each in said]
    for each in said:
        each.unlink()
    (first,) = [row for row in rows if row["first"]]
    peaks = ", ".join(f"{row['peak'] / 1e6:.0f}" for row in rows)
    numbers = " ".join(
        f"{name} {first[name]:,}"
        for name in islice(first, 1, None)
        if isinstance(first[name], int)
    )
    print(
        f"{path.name:14} {task:8} {first['seconds']:7.1f} s  gap {first['gap']:6.1f} s  "
        f"peak [MB] {peaks:12}  {numbers}{' '.join(first.get('refused', '').split())}",
        flush=True,
    )
    if output.exists():
        assert compared(path, output) == first["occurrences"]
        output.unlink()


def main() -> None:
    """Generate, run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--size", default="1GB")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--files", default=",".join(FILES))
    parser.add_argument("--tasks", default="search,features")
    parser.add_argument(
        "--memory", default="", help="of results on a rank; the rest goes to files"
    )
    parser.add_argument("--tagger", default="textblob")
    parser.add_argument("--directory", default=tempfile.gettempdir())
    given = parser.parse_args()
    size = quantity(given.size, "size", name="--size")
    for name in given.files.split(","):
        with tempfile.TemporaryDirectory(dir=given.directory) as folder:
            path = Path(folder, name)
            begun = perf_counter()
            count = write(path, size)
            print(
                f"\n{name}: {given.size}, {count:,} documents, written in "
                f"{perf_counter() - begun:.0f} s"
            )
            for task in given.tasks.split(","):
                measure(path, task, given.ranks, given.tagger, given.memory)


if __name__ == "__main__":
    if sys.argv[1:2] == [RANK]:
        run_rank(*sys.argv[2:])
    else:
        main()
