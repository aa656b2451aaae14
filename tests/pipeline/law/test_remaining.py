"""The time that the rest of a run takes: the law's, and that of simulated runs."""

import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.pipeline.engine.coordinator import Grant
from parcast.pipeline.law.adaptive import adaptive_time
from parcast.pipeline.law.remaining import Remaining
from parcast.pipeline.published.simulated import StaticSimulation
from parcast.pipeline.simulation.adaptive import AdaptiveSimulation
from parcast.pipeline.simulation.scenario import Scenario

PLACES = (0.1, 0.5, 0.9)  # of a run


@given(
    ranks=st.integers(1, 20),
    done=st.integers(2, 40),
    left=st.integers(1, 500),
    batch=st.integers(1, 8),
    merge=st.floats(0.0, 2.0),
    spread=st.floats(0.0, 0.8),
    fan_in=st.integers(2, 4),
)
def test_between_two_rounds_it_is_the_law_of_the_items_that_are_left(
    *, ranks, done, left, batch, merge, spread, fan_in
):
    """Blocks last 1 - spread and 1 + spread in turn; one merge has been made for each."""
    measured = Remaining(range(ranks), fan_in=fan_in)
    join = (fan_in - 1) * merge
    seconds = 0.0
    made = 2 * done
    for i in range(made):
        measured.granted(0, batch, 0.0)
        block = batch * 1.0 + (batch - 1) * merge
        block *= 1 + spread * (-1) ** i
        measured.done(0, batch, block, 0.0)
        seconds += block
    merges = made // (fan_in - 1)
    for _ in range(merges):
        measured.merged(0, join, 0.0)
    now = (seconds + merges * join) / ranks
    found = measured.adaptive(made * batch + left, made * batch, now)
    block = batch * 1.0 + (batch - 1) * merge
    variance = (spread * block) ** 2 * made / (made - 1)
    expected = adaptive_time(
        left,
        ranks,
        task=1.0,
        merge=merge,
        batch=batch,
        fan_in=fan_in,
        task_cv=np.sqrt(variance / batch),
    ).time
    # What the law counts as whole batches and merges of f is a part of one here.
    assert found == pytest.approx(float(expected), abs=1e-9 + block + 2 * join)
    if left % batch == 0 and fan_in == 2 and left >= batch:
        assert found == pytest.approx(float(expected), rel=1e-3)


class Watched(AdaptiveSimulation):
    """A simulated run of which the measurements are taken, and both predictions are made."""

    def __init__(self, scenario):
        super().__init__(scenario, np.random.SeedSequence(1))
        self.measured = Remaining(range(scenario.ranks), fan_in=scenario.fan_in)
        self.predicted, self.seconds, self.merges = [], 0.0, {}

    def _post(self, order):
        if isinstance(order, Grant):
            items = order.block.stop - order.block.first
            self.measured.granted(order.rank, items, self._clock.now)
        super()._post(order)

    def _hear_done(self, rank, block, seconds):
        super()._hear_done(rank, block, seconds)
        self.measured.done(rank, block.stop - block.first, seconds, self._clock.now)
        self._predict(seconds)

    def _merged(self, rank, node):
        self.merges[node] = self._clock.now - self._ranks[rank].since
        super()._merged(rank, node)

    def _hear_merged(self, rank, node):
        super()._hear_merged(rank, node)
        self.measured.merged(rank, self.merges[node], self._clock.now)
        self._predict(self.merges[node])

    def _predict(self, seconds):
        self.seconds += seconds
        items, done, now = self._scenario.items, self._coordinator.items_done, self._clock.now
        law = self.measured.adaptive(items, done, now)
        self.predicted.append((now, law, proportion(self, items, done)))


class WatchedSource(StaticSimulation):
    """The same of the published schedule."""

    def __init__(self, scenario):
        super().__init__(scenario, np.random.SeedSequence(1))
        self.measured = Remaining(range(scenario.ranks))
        self.predicted, self.seconds, self.done = [], 0.0, 0
        self._work_of, self._clock.work = self._clock.work, self._worked
        self._hear = None

    def _worked(self, seconds, action):
        hear, self._hear = self._hear, None

        def ended():
            if hear is not None:
                self.seconds += seconds
                hear(seconds)
                self._predict()
            action()

        self._work_of(seconds, ended)

    def _run_task(self, rank):
        items = rank.items
        self.measured.granted(rank.number, items, self._clock.now)

        def hear(seconds):
            self.done += items
            self.measured.done(rank.number, items, seconds, self._clock.now)

        self._hear = hear
        super()._run_task(rank)

    def _merge(self, rank, items):
        self._hear = lambda seconds: self.measured.merged(rank.number, seconds, self._clock.now)
        super()._merge(rank, items)

    def _predict(self):
        items, now = self._scenario.items, self._clock.now
        law = self.measured.published(items, self.done, now, pipelines=self._scenario.pipelines)
        self.predicted.append((now, law, proportion(self, items, self.done)))


def proportion(run, items, done):
    """Time of the rest if every item took as long as one has so far, on equally many ranks."""
    return run.seconds / done * (items - done) / run._scenario.ranks if done else None


def errors(run):
    """Errors of the law and of the proportion at each place of a run, in parts of its time."""
    time = run.run().time
    known = [each for each in run.predicted if each[1] is not None]
    rows = []
    for place in PLACES:
        now, *both = ([x for x in known if x[0] <= place * time] or known[:1])[-1]
        rows.append([abs(each - (time - now)) / time for each in both])
    return rows


@pytest.mark.parametrize("schedule", ["adaptive", "source"])
def test_it_is_nearer_to_simulated_runs_than_a_proportion(schedule):
    """Few and many items a rank, cheap and long merges, tasks all the same and exponential."""
    found = []
    for ranks, each, merge, law, service in product(
        (2, 4, 16), (2, 5, 20), (0.1, 1.0), ("none", "exponential"), (0.0, 0.05)
    ):
        scenario = Scenario(
            ranks=ranks,
            items=ranks * each + ranks // 3,
            task=1.0,
            merge=merge,
            task_law=law,
            service=service,
            latency=service / 10,
            schedule=schedule,
        )
        found.append(errors((Watched if schedule == "adaptive" else WatchedSource)(scenario)))
    law, simple = np.median(found, axis=0).T
    assert np.all(law < 0.75 * simple), (law, simple)
    assert np.all(law[1:] < [0.08, 0.04])


def test_tasks_of_the_same_length_end_together():
    """Sixteen ranks, 24 tasks of 10 s: a whole round is left after the first, not a half."""
    measured = Remaining(range(16))
    for rank in range(16):
        measured.granted(rank, 1, 0.0)
    assert measured.adaptive(24, 0, 5.0) is None
    for rank in range(16):
        measured.done(rank, 1, 10.0, 10.0)
    for rank in range(8):
        measured.granted(rank, 1, 10.0)
    assert measured.adaptive(24, 16, 10.0) == pytest.approx(10.0)
    assert measured.adaptive(24, 16, 14.0) == pytest.approx(6.0)


def test_items_that_come_slowly_are_in_it():
    """Tasks of 1 s of which one comes every 5 s: two ranks are idle most of the time."""
    measured = Remaining(range(2))
    for i in range(10):
        measured.granted(i % 2, 1, 5.0 * i)
        measured.done(i % 2, 1, 1.0, 5.0 * i + 1)
    assert measured.adaptive(110, 10, 50.0) == pytest.approx(500.0, rel=0.05)


def test_it_loads_neither_numpy_nor_scipy():
    show = "import parcast.pipeline.engine.root, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", show], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "parcast.pipeline.law.remaining" in loaded
    assert not {"numpy", "scipy"} & set(loaded)
