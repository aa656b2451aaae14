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


@pytest.mark.parametrize("ranks", [5])
def test_runs_on_any_number_of_ranks_give_the_same_bytes(ran, serial, tmp_path, ranks):
    status, out, err = ran(HERE / "same_bytes.py", tmp_path / "out.json", ranks=ranks)
    assert (status, out, err) == (0, "", "")
    assert json.loads((tmp_path / "out.json").read_text()) == serial


SAME = """
import sys
import parcast
from mpi4py import MPI

rank = MPI.COMM_WORLD.rank
tried = set()


def task(item):
    if item == 7 and item not in tried:
        tried.add(item)
        raise ValueError(item)
    if item == 8:
        raise ValueError(item)
    return item


result = parcast.run_pipeline(range(20), task, retries=1, on_error="skip", trace="trace.jsonl")
text = str(parcast.run_pipeline(range(5), abs))
facts = result.to_document()
facts["skipped"] = [x.index for x in result.skipped]
for other in MPI.COMM_WORLD.allgather(facts):
    assert other == facts, (other, facts)
assert (result.items, result.retried, facts["skipped"]) == (20, 2, [8])
assert len(result.ranks) == 3 and result.seconds > 0
assert result.is_root == (rank == 0)
assert result.value == (182 if rank == 0 else None)
assert ("value is on rank 0" in repr(result)) == (rank > 0), repr(result)
try:
    parcast.run_pipeline(range(5), abs, ranks=2)
except parcast.ParameterError as refusal:
    assert str(refusal) == (
        "ranks must be 3, the ranks that mpiexec or srun has started, got 2. Leave it out."
    ), refusal
assert parcast.run_pipeline(range(5), abs, ranks=3).items == 5
"""


def test_all_ranks_get_the_facts_of_a_run_and_rank_0_the_value(ran):
    assert ran(SAME, ranks=3) == (0, "", "")


COMMAND = """
import sys
from parcast.cli import main

status = 0
for more in CALLS:
    sys.argv = ["parcast", "run", "pipeline", "job.py", "1", "2", *more]
    try:
        main()
    except SystemExit as ended:
        status = max(status, ended.code)
sys.exit(status)
"""


def test_a_command_refuses_another_number_of_ranks_than_there_are(ran, tmp_path):
    (tmp_path / "job.py").write_text(
        "task = abs\ndef items(*texts):\n    return map(int, texts)\n"
    )
    status, _, err = ran(COMMAND.replace("CALLS", "[['-np', '3']]"), ranks=2)
    assert status == 2
    assert err.count("-np must be 2, the ranks that mpiexec or srun has started, got 3.") == 1
    status, out, err = ran(COMMAND.replace("CALLS", "[[], ['-np', '2']]"), ranks=2)
    assert (status, err) == (0, "")
    assert out.count("job: 2 items on 2 ranks") == 2


STARVING = """
import sys, time
from pathlib import Path
import parcast

N = 600  # more than are ever fetched ahead


def task(item):
    from mpi4py import MPI

    if MPI.COMM_WORLD.rank:
        (Path(folder) / str(item)).touch()
        return [item]
    end = time.monotonic() + 40
    while len(list(Path(folder).iterdir())) < N - 1:
        assert time.monotonic() < end, "the other ranks have no items"
        time.sleep(0.01)
    return [item]


def items():
    yield from range(N)


how, ranks = sys.argv[1], int(sys.argv[2])
folder = str(Path("done").absolute())
source = {"range": range(N), "generator": items()}[how]
keys = {"ranks": ranks} if ranks else {}
result = parcast.run_pipeline(source, task, batch=1, **keys)
if result.is_root:
    assert result.value == list(range(N))
    assert [x.items for x in result.ranks][0] == 1
"""


@pytest.mark.parametrize(("how", "own"), [("range", 0), ("generator", 3)])
def test_a_task_of_rank_0_that_ends_last_leaves_no_rank_without_items(ran, tmp_path, how, own):
    (tmp_path / "done").mkdir()
    assert ran(STARVING, how, own, ranks=None if own else 3) == (0, "", "")


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


facts, warm = {}, 500
parcast.run_pipeline(iter(range(warm)), counted, "counts")
before = peak()
parcast.run_pipeline(iter(range(10 * warm)), counted, "counts", every=40, server=lambda _: None)
parcast.run_pipeline(iter(range(4 * warm)), counted, "counts", batch=1)
facts["grown"] = peak() - before
facts["peak"] = peak()


def first_is_long(i):
    if i == 0:
        time.sleep(0.7)
    time.sleep(0.002)
    return np.ones(1000)


result = parcast.run_pipeline(range(300), first_is_long, batch=1)
facts["straggler"] = [x.items for x in result.ranks]


def large(i):
    time.sleep(0.05)
    return [np.full(2_000_000, i)]


result = parcast.run_pipeline(range(9), large, batch=1)
if comm.rank == 0:
    assert all((x == i).all() for i, x in enumerate(result.value))


# Rank 0 is in long tasks; the others go on meanwhile, and get the blocks they ask for.
def long_on_first(i):
    time.sleep(0.3 if comm.rank == 0 else 0.005)
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
    assert facts["grown"] < 10
    assert facts["peak"] < 300
    assert min(facts["straggler"]) < 40 < sorted(facts["straggler"])[1]
    assert facts["long on rank 0"][0] < 20
    assert min(facts["long on rank 0"][1:]) > 50
