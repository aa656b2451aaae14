"""A run whose ranks are killed at random moments goes on from its checkpoint."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from parcast.mpi.find import find_mpi
from tests.conftest import unmeasured
from tests.pipeline.engine.damaging import SAID, counted, flipped

HERE = Path(__file__).parent
PROGRAM = HERE / "resuming.py"


CASES = ["batches", "counts", "every", "pickled", "spilled"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Run every case in a folder of its name, which nothing disturbs; give the folder of all."""
    place, mpi = tmp_path_factory.mktemp("undisturbed"), find_mpi()
    command = [mpi.mpiexec, "-n", "2", sys.executable, PROGRAM, "all", "out.json", "0", "-1"]
    done = subprocess.run(
        [*map(str, command)],
        cwd=place,
        env=unmeasured() | mpi.environment(crowded=True),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return place


@pytest.mark.fault(
    "Pipelines",
    "Ranks are killed at random moments, and the run is resumed.",
    promise="No item is lost or repeated; the result is that of an undisturbed run.",
)
@pytest.mark.fault(
    "Pipelines",
    "A result in a checkpoint is damaged: a bit, its length, or the file is missing.",
    promise="Its items are worked on again, and the run says so; the result has the bytes of an "
    "undisturbed run.",
)
@pytest.mark.parametrize("case", CASES)
def test_ranks_that_are_killed_lose_and_repeat_nothing(ran, tmp_path, undisturbed, case):
    chance = random.Random(case)
    ranks = chance.choice([2, 3])
    victim, after = chance.randrange(ranks), chance.uniform(0.02, 0.06)
    status, _, err = ran(PROGRAM, case, "out.json", victim, after, ranks=ranks)
    assert status == 9, err
    harmed = counted(tmp_path / "kept")[:1]
    for path in harmed:
        flipped(path, chance)
    status, _, err = ran(PROGRAM, case, "out.json", 0, -1, ranks=3)
    assert (status, SAID in err, bool(err)) == (0, bool(harmed), bool(harmed))
    assert not list((tmp_path / "kept").iterdir())
    expected = undisturbed / case
    assert json.loads((tmp_path / "out.json").read_text()) == json.loads(
        (expected / "out.json").read_text()
    )
    served = sorted(x.name for x in tmp_path.glob("served.*"))
    assert served == sorted(x.name for x in expected.glob("served.*"))
    assert len(served) == (case in ("every", "pickled"))
    for name in served:
        assert (tmp_path / name).read_bytes() == (expected / name).read_bytes()
