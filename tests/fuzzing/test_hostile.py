"""Results and items of any type give a result, or a refusal that names the item."""

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.fuzzing.hostile import outcome_of

CASES = 200  # always the same; `python -m tests.fuzzing.hostile` runs as many as one likes
ON_RANKS = 40


@pytest.mark.fault(
    "Pipelines",
    "Items and results are objects whose methods and attributes fail or lie.",
    promise="The run gives its result, or a message that names the item.",
)
@pytest.mark.usefixtures("uncovered")
def test_objects_that_fail_or_lie_are_results_or_are_refused_with_their_item(tmp_path):
    outcomes = {seed: outcome_of(seed, tmp_path) for seed in range(CASES)}
    assert {seed: x for seed, x in outcomes.items() if x.is_bad} == {}
    kinds = Counter(x.kind for x in outcomes.values())
    assert min(kinds["read"], kinds["refused"]) > CASES / 10


@pytest.mark.fault(
    "Pipelines",
    "Items and results are objects whose methods and attributes fail or lie.",
    promise="The run gives its result, or a message that names the item.",
)
def test_objects_that_fail_or_lie_are_refused_with_their_item_on_ranks_too(ran):
    program = Path(ROOT, "tests", "fuzzing", "hostile.py")
    places = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    status, out, err = ran(program, "--cases", ON_RANKS, ranks=2, PYTHONPATH=places)
    assert (status, "exception" in out) == (0, False), out + err
