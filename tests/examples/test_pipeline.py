"""`examples/pipeline`: phrases are counted on MPI ranks, and the run is recorded and explained."""

import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest

from parcast.pipeline.explaining.timeline import timeline_of
from parcast.pipeline.traces.trace import read_trace
from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "pipeline"


def test_phrases_are_counted_and_the_run_is_recorded(tmp_path):
    texts = ["The cat and the dog. The cat", "and the dog and the", "cat; the dog", "", "the cat"]
    for i, text in enumerate(texts):
        (tmp_path / f"{i}.md").write_text(text)
    words = [x.lower().split() for text in texts for x in text.replace(";", ".").split(". ")]
    expected = Counter(" ".join(pair) for each in words for pair in pairwise(each))
    trace = tmp_path / "run.jsonl"
    command = [sys.executable, EXAMPLE / "count_phrases.py", tmp_path, trace]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    printed = dict(line.split(maxsplit=1)[::-1] for line in done.stdout.splitlines())
    assert printed == {phrase: str(count) for phrase, count in expected.most_common(5)}
    run = timeline_of(read_trace(trace))
    assert len(run.ranks) == 4
    assert sum(rank.items for rank in run.ranks) == len(texts)
    assert sum(run.share(x) for x in ("computing", "merging", "communicating", "idle")) == (
        pytest.approx(1.0)
    )


def test_the_recorded_run_is_one_of_all_pages():
    run = timeline_of(read_trace(EXAMPLE / "run.jsonl"))
    assert run.header.program == "count phrases"
    assert sum(rank.items for rank in run.ranks) == run.header.items
    assert run.notes == ()
    assert sum(x.merges for x in run.ranks) == sum(x.tasks for x in run.ranks) - 1
