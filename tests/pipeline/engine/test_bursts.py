"""Items that come in bursts: none waits for the next burst."""

import time
from functools import partial
from pathlib import Path

import parcast
from parcast.pipeline.engine.coordinator import Coordinator, Grant
from parcast.pipeline.engine.items import Items

LIMIT = 60.0  # for items that wait for each other's tasks [s]


def noted(folder, item):
    Path(folder, str(item)).touch()
    return [item]


def bursts(folder, sizes):
    """Give items in bursts, each when the tasks of all before have run."""
    given = 0
    for size in sizes:
        yield from range(given, given + size)
        given += size
        end = time.monotonic() + LIMIT
        while len(list(Path(folder).iterdir())) < given:
            assert time.monotonic() < end, f"{given} items were given, and some wait"
            time.sleep(0.01)
        time.sleep(0.2)


def test_no_item_waits_for_the_next_burst(tmp_path):
    items = bursts(tmp_path, [3, 1, 5, 2])
    result = parcast.run_pipeline(items, partial(noted, tmp_path), "sum", ranks=3)
    assert result.value == list(range(11))


def paused(sizes, seconds, done):
    """Give items in bursts with pauses, and how many were done when each burst began."""
    for size in sizes:
        for _ in range(size):
            yield len(done)
        time.sleep(seconds)


def test_one_process_does_what_is_here_before_it_waits_again():
    done = []

    def task(known):
        done.append(known)
        return [known]

    result = parcast.run_pipeline(paused([1, 3, 4, 2], 0.3, done), task, "sum")
    # Only in its first burst of several it does not expect the pause.
    assert result.value[0] == 0
    assert result.value[4] >= 2  # the second burst: all but what waited with the third
    assert result.value[8] >= 7  # the third burst was done but for its last item


def test_a_pause_is_remembered_for_a_while(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("parcast.pipeline.engine.items.perf_counter", lambda: now[0])

    def slow():
        now[0] += 2.0
        yield 0

    items = Items(slow())
    assert not items.may_pause(1.0)
    items.fetch(1, patience=1.0)
    assert items.may_pause(1.0)
    assert not items.may_pause(3.0)
    now[0] += 250.0
    assert not items.may_pause(1.0)


def test_a_rank_that_waits_for_items_is_given_none():
    schedule = Coordinator([0, 1], batch=1)
    schedule.fetched(4)
    grants = [x.rank for x in schedule.orders(first_waits=True) if isinstance(x, Grant)]
    assert grants == [1]
