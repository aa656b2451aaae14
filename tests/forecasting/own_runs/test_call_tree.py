"""Times of call paths made to add up: sums, limits, and who moves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.forecasting.own_runs.call_paths import CallTree, reconciled

quick = settings(deadline=None, derandomize=True)
logs = st.floats(-10, 10)
widths = st.floats(0.01, 5)


def tree(parents, adds_up=True):
    parent = np.array(parents, dtype=np.intp)
    depth = np.zeros(len(parents), dtype=np.intp)
    for i, above in enumerate(parents):
        depth[i] = 0 if above < 0 else depth[above] + 1
    return CallTree(parent=parent, depth=depth, adds_up=np.full(len(parents), adds_up))


def agreed(of, log_time, half_width, own=None):
    shape = np.shape(log_time)
    log_own = np.full(shape, -np.inf) if own is None else np.asarray(own)
    return reconciled(
        of,
        log_time=np.asarray(log_time, dtype=float),
        half_width=np.asarray(half_width, dtype=float),
        log_own=log_own,
        own_half_width=np.where(np.isfinite(log_own), 0.1, 0.0),
    )


@quick
@given(st.lists(st.tuples(logs, widths), min_size=7, max_size=7))
def test_parts_add_up_to_their_totals_at_every_level(values):
    of = tree([-1, 0, 0, 1, 1, 2, 2])
    log_time, half_width = (np.array(column)[:, None] for column in zip(*values, strict=True))
    time = np.exp(agreed(of, log_time, half_width))
    assert np.all(np.isfinite(time) & (time > 0))
    for total, parts in ((0, (1, 2)), (1, (3, 4)), (2, (5, 6))):
        assert time[total] == pytest.approx(time[list(parts)].sum(), rel=1e-9)


def test_the_side_that_is_better_known_is_followed():
    log_time = np.log([[10.0], [10.0], [10.0]])
    sure_of_total = np.exp(agreed(tree([-1, 0, 0]), log_time, [[0.001], [1.0], [1.0]]))
    sure_of_parts = np.exp(agreed(tree([-1, 0, 0]), log_time, [[1.0], [0.001], [0.001]]))
    assert sure_of_total[0] == pytest.approx(10.0, rel=1e-3)
    assert sure_of_parts[0] == pytest.approx(20.0, rel=1e-3)
    assert sure_of_parts[1:] == pytest.approx(10.0, rel=1e-3)


def test_where_parts_do_not_add_up_none_takes_longer_than_its_caller():
    log_time = np.log([[10.0], [12.0], [7.0]])
    time = np.exp(agreed(tree([-1, 0, 0], adds_up=False), log_time, np.full((3, 1), 0.3)))
    assert time.ravel() == pytest.approx([10.0, 10.0, 7.0])
