"""Times split into shared, constant and growing work, and how sure that is."""

import numpy as np
import pytest

from parcast.forecasting.own_runs.parts import PARTS, QUANTILES, split

P = 2.0 ** np.arange(8)[None]
LAWS = {
    "shared": lambda p: 96 / p + 0 * p,
    "constant": lambda p: 5 + 0 * p,
    "growing": lambda p: 10 / p + 0.05 * p**2,
}


def parts_at(time, p=P, error=0.005, at=128.0):
    """Quantiles of the parts of the time of one series, (parts, quantiles)."""
    found = split(p, time, np.array([p.shape[1]]), np.full(p.shape, error))
    return np.quantile(found.at(np.array([[at]]), found.drawn())[0, :, 0], QUANTILES, axis=0).T


@pytest.mark.parametrize("part", LAWS)
def test_times_of_one_kind_of_work_are_that(part):
    lower, middle, _ = parts_at(LAWS[part](P))[PARTS.index(part)]
    whole = LAWS[part](np.array(128.0))
    assert middle == pytest.approx(whole, rel=0.05)
    assert lower > 0.8 * whole


def test_parts_add_up_to_the_time_that_a_law_has():
    found = split(P, LAWS["growing"](P), np.array([8]), np.full(P.shape, 0.005))
    parts = found.at(P, found.drawn())
    assert parts.min() >= 0
    assert parts[0, 0].sum(axis=1) == pytest.approx(LAWS["growing"](P[0]), rel=1e-6)


def test_intervals_hold_the_parts_of_noisy_times():
    random = np.random.default_rng(5)
    truth = {"shared": 96 / 128, "constant": 2.0, "growing": 0.02 * 128}
    inside = dict.fromkeys(PARTS, 0)
    for _ in range(60):
        time = (2 + 96 / P + 0.02 * P) * np.exp(random.normal(0, 0.02, P.shape))
        for (low, _, high), name in zip(parts_at(time, error=0.02), PARTS, strict=True):
            inside[name] += low <= truth[name] <= high
    assert min(inside.values()) >= 48  # 80 % of 60


def test_padding_says_nothing():
    time = LAWS["growing"](P)
    padded = np.where(np.arange(10) < 8, np.pad(P, ((0, 0), (0, 2))), np.nan)
    longer = np.where(np.arange(10) < 8, np.pad(time, ((0, 0), (0, 2))), np.nan)
    found = split(padded, longer, np.array([8]), np.full(padded.shape, 0.005))
    at = found.at(np.array([[128.0]]), found.drawn())[0, 0, 0]
    assert at == pytest.approx(parts_first(time))


def parts_first(time):
    """Parts by the counts as they are, of the first sample."""
    found = split(P, time, np.array([8]), np.full(P.shape, 0.005))
    return found.at(np.array([[128.0]]), found.drawn())[0, 0, 0]
