"""A run that a function of another run starts uses its process alone."""

import threading
import time

import pytest

import parcast
from parcast.errors import RunFailed
from parcast.mpi.launched import inside_run, is_inside_run

NESTED = """
import sys, threading
from pathlib import Path
import numpy as np
import parcast
from parcast.mpi.launched import is_inside_run

FOLDER = Path("texts")


def own(n, **keys):
    result = parcast.run_pipeline(range(n), float, "sum", **keys)
    assert result.is_root and len(result.ranks) == 1, result
    return result.value


def in_thread(n):
    found = []
    thread = threading.Thread(target=lambda: found.append(own(n)))
    thread.start()
    thread.join()
    return found[0]


def task(i, state):
    assert state == 3.0
    np.save(f"{i}.npy", [3.0, 1.0, 2.0])
    assert parcast.sort_file(f"{i}.npy", f"{i}-sorted.npy").elements == 3
    assert np.load(f"{i}-sorted.npy").tolist() == [1.0, 2.0, 3.0]
    found = parcast.search_documents(FOLDER, "latency")
    assert [x.document for x in found.queries[0].hits] != []
    return own(i, ranks=2) + (in_thread(i) if parcast_ranks else 0.0)


def merge(a, b):
    assert own(2) == 1.0
    return a + b


def items():
    for i in range(8):
        assert own(3) == 3.0
        yield i


def server(reduction):
    assert own(4, ranks=3) == 6.0
    values.append(reduction.value)


parcast_ranks = int(sys.argv[1])
keys = {"ranks": parcast_ranks} if len(sys.argv) > 2 else {}
values = []
result = parcast.run_pipeline(
    items(), task, merge, setup=lambda: own(3), finish=lambda x: x + own(3) - 3.0, every=4,
    batch=1, server=server, **keys,
)
assert len(result.ranks) == max(parcast_ranks, 1), result
twice = 2 if parcast_ranks else 1
if result.is_root:
    assert values == [4.0 * twice, 52.0 * twice], values
assert not is_inside_run()
print("done")
"""


@pytest.mark.parametrize(("ranks", "starts"), [(0, False), (2, False), (2, True)])
def test_runs_inside_functions_of_a_run_use_their_process_alone(ran, tmp_path, ranks, starts):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("Latency is the time of an empty message.")
    arguments = [ranks, *(["starts"] if starts else [])]
    status, out, err = ran(NESTED, *arguments, ranks=None if starts or not ranks else ranks)
    assert (status, err) == (0, "")
    assert out.count("done") == (1 if starts or not ranks else ranks)


def test_a_run_on_one_process_concerns_its_thread_alone():
    seen = []
    with inside_run(on_ranks=False):
        thread = threading.Thread(target=lambda: seen.append(is_inside_run()))
        thread.start()
        thread.join()
        assert is_inside_run()
    with inside_run(on_ranks=True):
        thread = threading.Thread(target=lambda: seen.append(is_inside_run()))
        thread.start()
        thread.join()
    assert seen == [False, True]
    assert not is_inside_run()


def test_the_limit_of_the_outer_run_ends_the_inner_one():
    def task(_):
        return parcast.run_pipeline(range(2), lambda _: time.sleep(30)).value

    begun = time.monotonic()
    with pytest.raises(RunFailed, match=r"outer did not end within 0\.5 s .* working on item 0"):
        parcast.run_pipeline(range(3), task, time_limit=0.5, name="outer")
    assert time.monotonic() - begun < 20
    assert not is_inside_run()
