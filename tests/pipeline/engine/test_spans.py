"""Spans of pipelines at the end of the items, and where ranks of a testbed run."""

from contextlib import contextmanager

import pytest

from parcast.mpi.rank import PLACEMENT
from parcast.pipeline.engine import starting
from parcast.pipeline.engine.coordinator import Coordinator, Grant
from parcast.pipeline.run import run_pipeline


@pytest.mark.parametrize("items", [16, 24, 40])
def test_every_pipeline_gets_an_even_share_of_few_items(items):
    coordinator = Coordinator(range(8), pipelines=2, batch=1, items=items)
    coordinator.fetched(items, ended=True)
    taken = dict.fromkeys(range(8), 0)
    while not coordinator.is_over:
        orders = list(coordinator.orders())
        for order in orders:
            if isinstance(order, Grant):
                taken[order.rank] += 1
                coordinator.done(order.rank, order.block, [8.0], 1.0)
            elif hasattr(order, "inputs"):
                coordinator.merged(order.rank, order.node, 8.0)
    assert sum(taken.values()) == items
    halves = sum(taken[rank] for rank in range(4)), sum(taken[rank] for rank in range(4, 8))
    assert min(halves) >= items / 4


def test_all_ranks_have_work_at_once_with_two_items_each():
    coordinator = Coordinator(range(8), pipelines=2, batch=1, items=16)
    coordinator.fetched(16)
    granted = {order.rank for order in coordinator.orders() if isinstance(order, Grant)}
    assert granted == set(range(8))


@pytest.mark.parametrize(("variable", "expected"), [(None, "spread"), ("free", "auto")])
def test_ranks_are_not_pinned_where_a_testbed_says_so(monkeypatch, variable, expected):
    asked = []

    class EnoughError(Exception):
        pass

    @contextmanager
    def started(*_, placement, **__):
        asked.append(placement)
        raise EnoughError
        yield

    monkeypatch.setattr(starting, "started_ranks", started)
    monkeypatch.setattr(starting, "available_cores", lambda: (0,))
    monkeypatch.delenv(PLACEMENT, raising=False)
    if variable:
        monkeypatch.setenv(PLACEMENT, variable)
    with pytest.raises(EnoughError):
        run_pipeline(range(4), abs, ranks=2)
    assert asked == [expected]
