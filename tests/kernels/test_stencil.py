"""The stencil: correct for every P, its counts those of its law, its regions what they say."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.characterisation.characterise import characterise
from parcast.errors import ParameterError, RunFailed
from parcast.instrument.regions import PROFILING
from parcast.kernels import stencil
from parcast.kernels.ledger import Alone, Ledger
from parcast.kernels.run import run_kernel
from parcast.kernels.stencil import KERNEL
from parcast.mpi.launcher import run_ranks
from parcast.timings.read_profiles import read_profiles
from tests.laws.counting import stencil_counts

BOTH = """
import runpy, sys
for sys.argv[1:] in (["4"], ["75", "5"]):
    runpy.run_module("parcast.kernels.stencil", run_name="__main__")
"""
RANKS = 3


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 50, 301])
def test_alone_it_computes_what_the_serial_reference_does(n, tmp_path):
    run = KERNEL.run(Alone(), n, seed=3, check=True, directory=tmp_path)
    assert run.is_correct
    assert run.messages == run.sent == (0,)
    if n:
        counts = stencil_counts(n, 1, time_steps=stencil.STEPS, checkpoints=2)
        assert (run.steps[0], run.disk_bytes) == (counts.steps, counts.disk_bytes)
    assert list(tmp_path.iterdir()) == []


def test_without_a_directory_it_writes_no_checkpoints():
    run = KERNEL.run(Alone(), 20, check=True)
    assert (run.is_correct, run.disk_bytes) == (True, 0)


def test_a_wrong_result_is_found(tmp_path):
    ledger = Ledger(Alone(), tmp_path)
    state = KERNEL.functions.prepare(ledger, 10, 0)
    result = KERNEL.functions.work(ledger, state)
    assert KERNEL.functions.is_correct(ledger, state, result)
    result.values[3, 3] += 1e-9
    assert not KERNEL.functions.is_correct(ledger, state, result)


@given(rows=st.integers(0, 700), columns=st.integers(0, 1500))
def test_tiles_hold_every_point_once_and_fit_the_room(rows, columns):
    seen = np.zeros((rows, columns), dtype=int)
    for down, across in stencil._tiles(rows, columns):
        seen[down, across] += 1
        height, width = down.stop - down.start + 2, across.stop - across.start + 2
        assert height * width <= stencil._largest_tile(columns + 2)
    assert np.all(seen == 1)


def test_temperatures_stay_between_those_there_were():
    plate, changes = stencil.serial(40, 1)
    assert 0 <= plate.min() <= plate.max() <= 1
    assert 0 < changes[-1] < changes[0] / 2


def test_ranks_write_a_profile_that_is_characterised_and_that_has_the_counts(tmp_path):
    """One launch: also more ranks than rows, which the first n has."""
    place = tmp_path / "out.jsonl"
    (tmp_path / "both.py").write_text(BOTH)
    ended = run_ranks(
        "both",
        ranks=RANKS,
        time_limit=60,
        environment={"PARCAST_PROFILE": str(place), "PYTHONPATH": str(tmp_path)},
    )
    assert ended.stdout.count(", correct") == 2
    _, run = read_profiles([place]).runs
    assert (run.p, run.program, run.parameters) == (RANKS, "stencil", {"n": 75, "steps": 20})
    told = {x.name: x for x in characterise([run]).regions}
    assert list(told) == ["halo", "sweep", "change", "checkpoint"]
    assert (told["sweep"].calls, told["change"].calls, told["checkpoint"].calls) == (
        "20",
        "20",
        "2",
    )
    assert (told["halo"].volume, told["change"].volume) == ("600 B", "8 B")
    assert told["checkpoint"].volume == f"{8 * 75 * 73} B"
    iterations = sum(x.iterations for x in run.of_region("sweep"))
    assert iterations == 20 * 73 * 73


def test_alone_it_is_a_program_that_writes_a_profile(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(stencil, "_communicator", Alone)
    PROFILING.start(str(tmp_path / "out.jsonl"))
    stencil.main(["30"])
    PROFILING.stop()
    PROFILING.program, PROFILING.parameters = "", {}
    assert capsys.readouterr().out.startswith("n = 30, p = 1: ")
    assert len(read_profiles([tmp_path / "out.jsonl"]).runs) == 1


def test_a_checkpoint_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(RunFailed, match="cannot be used for the files of stencil: no such file"):
        KERNEL.run(Alone(), 10, directory=tmp_path / "none")
    assert os.listdir(tmp_path) == []


def test_it_says_how_much_memory_it_needs():
    assert KERNEL.functions.memory(1000, 2) == pytest.approx(2 * 8e6, rel=0.1)


def test_the_first_rank_has_more_rows_where_it_is_asked_for():
    equal, uneven = stencil._uneven(100, 4, 1.0), stencil._uneven(100, 4, 1.6)
    assert equal.tolist() == [0, 25, 50, 75, 100]
    assert uneven.tolist() == [0, 40, 60, 80, 100]
    assert stencil._uneven(100, 2, 2.0).tolist() == [0, 100, 100]
    assert stencil._uneven(100, 1, 1.0).tolist() == [0, 100]


def test_an_imbalanced_run_is_correct_and_writes_nothing(tmp_path):
    (run,) = run_kernel(
        "stencil", n=122, ranks=4, imbalance=1.6, steps=11, check=True, directory=tmp_path
    )
    assert run.is_correct
    assert run.steps == (120 * 48 * 11, *[120 * 24 * 11] * 3)
    assert run.disk_bytes == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"imbalance": 3},
            "imbalance must lie between 1 and the 2 ranks, got 3. It is the points of the first "
            "rank over the mean: 1.5 is half as many more.",
        ),
        ({"imbalance": 0.5}, "imbalance must lie between 1 and the 2 ranks, got 0.5."),
        ({"imbalance": "x"}, "imbalance must be a number, got 'x'."),
        ({"imbalance": 1.5, "mesh": (2, 1)}, "imbalance must be left out with mesh, got 1.5."),
    ],
)
def test_an_imbalance_that_cannot_be_is_refused(options, says):
    with pytest.raises(ParameterError) as caught:
        run_kernel("stencil", n=50, ranks=2, **options)
    assert str(caught.value).startswith(says)
