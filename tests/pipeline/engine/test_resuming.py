"""A run whose ranks are killed at random moments goes on from its checkpoint."""

import json
import random
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAM = HERE / "resuming.py"
KILLS = 3  # of a case, which makes 21 in all


CASES = ["text", "batches", "counts", "every", "pickled", "skip", "spilled"]


@pytest.mark.fault(
    "Pipelines",
    "Ranks are killed at random moments, and the run is resumed.",
    promise="No item is lost or repeated; the result is that of an undisturbed run.",
)
@pytest.mark.parametrize("case", CASES)
def test_ranks_that_are_killed_lose_and_repeat_nothing(ran, tmp_path, case):
    chance, statuses = random.Random(case), []
    for _ in range(KILLS):
        ranks = chance.choice([2, 3])
        victim, after = chance.randrange(ranks), chance.uniform(0.02, 0.12)
        status, _, err = ran(PROGRAM, case, "out.json", victim, after, ranks=ranks)
        assert status in (0, 9), err
        statuses.append(status)
    assert 9 in statuses
    status, _, err = ran(PROGRAM, case, "out.json", 0, -1, ranks=3)
    assert (status, err) == (0, "")
    assert not list((tmp_path / "kept").iterdir())
    left = (tmp_path / "out.json").read_text()
    served = [(x, x.read_bytes()) for x in tmp_path.glob("served.*")]
    for path, _ in served:
        path.unlink()
    status, _, err = ran(PROGRAM, case, "out.json", 0, -1, ranks=2)
    assert (status, err) == (0, "")
    assert json.loads(left) == json.loads((tmp_path / "out.json").read_text())
    assert all(path.read_bytes() == before for path, before in served)
    assert len(served) == (case in ("every", "pickled"))
