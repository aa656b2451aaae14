"""Count the phrases of two words in all pages of a folder on 4 ranks, and record the run.

`python examples/pipeline/count_phrases.py docs run.jsonl` wrote the file `run.jsonl` beside this
one, on a machine with 2 cores that other programs used as well. `phrases.jsonl.gz` is from
`python examples/pipeline/count_phrases.py . phrases.jsonl.gz "*.py" 2`.
"""

import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import parcast

WORD = re.compile(r"\w+")


def phrases_of(page):
    """Count the pairs of neighbouring words, in each sentence of a page."""
    counts = Counter()
    for sentence in re.split(r"[.:;!?]\s", Path(page).read_text(encoding="utf-8").lower()):
        counts.update(" ".join(pair) for pair in pairwise(WORD.findall(sentence)))
    return counts


if __name__ == "__main__":
    folder, trace, *others = sys.argv[1:]
    pattern, ranks = others or ("*.md", "4")
    counted = parcast.run_pipeline(
        sorted(Path(folder).rglob(pattern)),
        phrases_of,
        "counts",
        ranks=int(ranks),
        batch=2,
        name="count phrases",
        trace=trace,
    )
    for phrase, count in counted.value.most_common(5):
        sys.stdout.write(f"{count:5} {phrase}\n")
