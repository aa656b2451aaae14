"""Tokens per second of CPU time of the whole task of features, by tagger.

    .venv/bin/python benchmarks/features.py [--taggers textblob,module:function]

Throughput is that of one process over this project's documentation: reading, tokens, tags,
phrases, and the merge.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from parcast.applications.text.documents.items import work_items
from parcast.applications.text.features.lexicon import merged
from parcast.applications.text.features.task import Features, features_of

ROOT = Path(__file__).resolve().parents[1]


def throughput(tagger: str) -> tuple[int, float]:
    """Tokens, and seconds for them, over the documentation."""
    items = list(work_items(sorted((ROOT / "docs").rglob("*.md"))))
    state = Features(tagger=tagger)()
    features_of(items[0], state)  # which loads the word list
    start = time.process_time()
    lexicon = merged([features_of(item, state) for item in items])
    return lexicon.totals.tokens, time.process_time() - start


def startup(tagger: str) -> float:
    """Seconds until a fresh process has the tagger and has tagged a word, less those of Python."""
    module = "parcast.applications.text.features.tagging"
    code = f"from {module} import load_tagger as load; load({tagger!r})(['a'])"

    def seconds(program: str) -> float:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True)
            times.append(time.perf_counter() - start)
        return min(times)

    return seconds(code) - seconds("pass")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--taggers", default="textblob", help="names, separated by commas")
    names = parser.parse_args().taggers.split(",")
    print(f"{'tagger':10}  {'tokens':>7}  {'tokens/s':>8}  start-up")
    for name in names:
        tokens, seconds = throughput(name)
        print(f"{name:10}  {tokens:7}  {tokens / seconds:8.0f}  {startup(name):.2f} s")


if __name__ == "__main__":
    main()
