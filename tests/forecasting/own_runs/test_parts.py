"""Times split into shared, constant and growing work, and how sure that is."""

import numpy as np
import pytest

import parcast
from parcast.forecasting.own_runs.parts import PARTS, QUANTILES, parts_of, split

P = 2.0 ** np.arange(8)[None]
LAWS = {
    "shared": lambda p: 96 / p + 0 * p,
    "constant": lambda p: 5 + 0 * p,
    "growing": lambda p: 10 / p + 0.05 * p**2,
}


def split_one(time, p=P, count=None, error=0.005):
    count = np.array([p.shape[1] if count is None else count])
    return split(p, time[None], count, np.full((1, *p.shape), error))


def shares_of(p, time, at, **more):
    series = parcast.Measurements(p=p, time=time, **more).series(by=[])
    return parts_of(series, 0, np.atleast_1d(np.asarray(at, dtype=float)), seed=0)


@pytest.mark.parametrize("part", LAWS)
def test_times_of_one_kind_of_work_are_that(part):
    parts, _ = split_one(LAWS[part](P)).at(np.array([[128.0]]))
    lower, middle, _ = np.quantile(parts[0, 0, :, 0, PARTS.index(part)], QUANTILES)
    whole = LAWS[part](np.array(128.0))
    assert middle == pytest.approx(whole, rel=0.05)
    assert lower > 0.8 * whole


def test_parts_are_the_terms_of_the_law_that_holds():
    time = 10 / P + 0.05 * P**2
    told = shares_of(P[0], time[0], P[0])
    true = np.stack([10 / P[0], 0 * P[0], 0.05 * P[0] ** 2], axis=1) / time.T
    assert told.share == pytest.approx(true, abs=0.01)
    assert told.share.sum(axis=1) == pytest.approx(np.ones(8))
    assert told.laws[0][0] == "quadratic"
    assert sum(share for _, share in told.laws) == pytest.approx(1)


@pytest.mark.parametrize("growth", [np.log2, np.sqrt, lambda p: p, np.square])
@pytest.mark.parametrize("runs", [1, 3])
def test_intervals_hold_the_parts_of_noisy_times(growth, runs):
    random = np.random.default_rng(5)
    held = []
    for _ in range(40):
        p = 2.0 ** np.arange(random.integers(3, 7))
        at = p[-1:] * 2
        ratio = 10 ** random.uniform(-1, 1, 2)

        def parts(q, p=p, ratio=ratio):
            grown = ratio[1] * growth(q) / growth(p[-1])
            return np.stack([p[-1] / q, ratio[0] + 0 * q, grown], axis=1)

        every = np.tile(p, runs)
        time = parts(every).sum(axis=1) * random.lognormal(0, 0.02, len(every))
        told, true = shares_of(every, time, at), parts(at)[0] / parts(at).sum()
        held += ((told.lower[0] <= true) & (true <= told.upper[0])).tolist()
    assert 0.85 <= np.mean(held) <= 0.99


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_what_runs_cannot_exclude_is_in_the_interval(noise):
    p = np.tile([1.0, 2, 4, 8], 2)
    time = 100 / p**1.1 * np.tile([1 + noise] * 4 + [1 - noise] * 4, 1)  # superlinear
    told = shares_of(p, time, [8, 64])
    assert told.share[:, 0] == pytest.approx([1, 1])
    assert np.all(told.upper[:, 1:] > 0.005)
    assert told.upper[1, 2] > told.upper[0, 2]
    assert np.all(told.lower[:, 0] <= 1 - told.upper[:, 1:].max(axis=1) + 0.02)


def test_versions_that_are_the_same_have_the_same_parts():
    time = np.stack([96 / P + 5, 96 / P + 6])
    parts, _ = split(P, time, np.array([8]), np.full((2, *P.shape), 1e-6)).at(P)
    change = np.quantile(parts[1] - parts[0], QUANTILES, axis=1)[:, 0, -1]
    assert change[:, 0] == pytest.approx(np.zeros(3), abs=0.02)
    assert change[:, 1] == pytest.approx(np.ones(3), abs=0.1)


def test_means_with_a_large_deviation_say_less():
    p, time = [1, 2, 4, 8, 16], [100, 52, 28, 16, 14]
    sure = shares_of(p, time, 16, deviation=[0.5] * 5)
    doubtful = shares_of(p, time, 16, deviation=[0.5, 0.5, 0.5, 0.5, 8])
    assert np.all(doubtful.upper[0] - doubtful.lower[0] > sure.upper[0] - sure.lower[0])
