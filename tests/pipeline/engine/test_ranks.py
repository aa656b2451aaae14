"""Runs on ranks give what a run on one process gives, to the last bit."""

import json
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def serial():
    sys.path.insert(0, str(HERE))
    try:
        import same_bytes

        return json.loads(json.dumps(same_bytes.all_of()))
    finally:
        sys.path.remove(str(HERE))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
def test_runs_on_any_number_of_ranks_give_the_same_bytes(ran, serial, tmp_path, ranks):
    status, out, err = ran(HERE / "same_bytes.py", tmp_path / "out.json", ranks=ranks)
    assert (status, out, err) == (0, "", "")
    assert json.loads((tmp_path / "out.json").read_text()) == serial


PROGRAM = """
import json, sys, time
import numpy as np
import parcast
from mpi4py import MPI

comm = MPI.COMM_WORLD


def peak():
    lines = open("/proc/self/status").read().splitlines()
    return int(next(x for x in lines if x.startswith("VmHWM")).split()[1]) / 1024  # [MB]


def counted(i):
    return {f"w{i * k % 503}": 1 for k in range(20)}


facts, warm = {}, 2000
parcast.run_pipeline(iter(range(warm)), counted, "counts")
before = peak()
parcast.run_pipeline(iter(range(10 * warm)), counted, "counts", every=40, server=lambda _: None)
parcast.run_pipeline(iter(range(4 * warm)), counted, "counts", batch=1)
facts["grown"] = peak() - before
facts["peak"] = peak()


def first_is_long(i):
    if i == 0:
        time.sleep(1.5)
    time.sleep(0.002)
    return np.ones(1000)


result = parcast.run_pipeline(range(300), first_is_long, batch=1)
facts["straggler"] = [x.items for x in result.ranks]


def large(i):
    time.sleep(0.15)
    return [np.full(2_000_000, i)]


result = parcast.run_pipeline(range(9), large, batch=1)
if comm.rank == 0:
    assert all((x == i).all() for i, x in enumerate(result.value))


# Rank 0 is in long tasks; the others go on meanwhile, and get the blocks they ask for.
def long_on_first(i):
    time.sleep(0.6 if comm.rank == 0 else 0.01)
    return 1


result = parcast.run_pipeline(range(200), long_on_first, batch=1)
facts["long on rank 0"] = [x.items for x in result.ranks]
gathered = comm.gather(facts)
if comm.rank == 0:
    for key in ("grown", "peak"):
        facts[key] = max(x[key] for x in gathered)
    print(json.dumps(facts))
"""


def test_what_ranks_hold_is_bounded_and_no_rank_holds_others_up(ran):
    status, out, err = ran(PROGRAM, ranks=3)
    assert (status, err) == (0, "")
    facts = json.loads(out)
    assert facts["grown"] < 30
    assert facts["peak"] < 300
    assert min(facts["straggler"]) < 40 < sorted(facts["straggler"])[1]
    assert facts["long on rank 0"][0] < 20
    assert min(facts["long on rank 0"][1:]) > 50
