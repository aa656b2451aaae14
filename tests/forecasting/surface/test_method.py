"""`parcast.laws.several_*`: recovery of known programs, laws that must hold, and its parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.forecasting.own_runs.measured import curve_from
from parcast.forecasting.surface.method import OWN_SHARE, coordinates_of, forecast_surface

P, N, THETA = 2.0 ** np.arange(8), np.array([100.0, 150, 220, 330]), np.array([0.1, 0.2, 0.4])


def grid(*axes):
    return np.stack([x.ravel() for x in np.meshgrid(*axes, indexing="ij")], axis=1)


def shared_work(x):
    """a + b n / p + c log p."""
    return 1.0 + 0.5 * x[:, 1] / x[:, 0] + 0.2 * np.log2(x[:, 0])


def stencil(x):
    volume = x[:, 1] ** 3 / x[:, 0]
    return 1e-5 * volume + 3e-4 * volume ** (2 / 3) + 1e-3 * np.log2(2 * x[:, 0])


def weak(x):
    """The size is that of one processor."""
    return 1e-6 * x[:, 1] ** 3 + 1e-5 * x[:, 1] ** 2 * np.log2(2 * x[:, 0])


LAWS = {"shared work": shared_work, "stencil": stencil, "weak": weak}
small = st.integers(0, 2**32 - 1)


def some_runs(seed, points=14):
    """Runs at random places of a grid, ordered, with times of no law at all."""
    random = np.random.default_rng(seed)
    every = grid(P[:5], N[:3], THETA)
    kept = np.sort(random.choice(len(every), points, replace=False))
    return every[kept], random.lognormal(0, 2, points)


def errors(law, told, asked, noise=0.0, seed=0):
    random = np.random.default_rng(seed)
    time = law(told) * np.exp(noise * random.standard_normal(len(told)))
    said = forecast_surface(told, time, asked)
    return np.abs(np.expm1(said.log_time - np.log(law(asked)))), said


# recovery


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_larger_count_is_forecast_from_a_full_grid(law):
    missed, said = errors(law, grid(P, N), grid([256.0, 512.0], N), noise=0.01)
    assert np.median(missed) < 0.15  # the stencil has a term that no law along p has
    assert np.median(np.exp(2 * said.doubts.half_width())) < 4


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_larger_size_is_forecast_from_a_full_grid(law):
    missed, _ = errors(law, grid(P, N), grid(P, [500.0]), noise=0.01)
    assert np.median(missed) < 0.06


def test_a_factor_of_an_accuracy_is_recovered():
    def law(x):
        return stencil(x) * x[:, 2] ** -1.7

    missed, _ = errors(law, grid(P, N, THETA), grid([256.0], N, [0.15, 0.3]), noise=0.01)
    assert np.median(missed) < 0.15


def test_weak_and_strong_scaling_are_one_fit():
    strong = grid(P, [100.0])
    growing = np.column_stack([P, 100 * P ** (1 / 3)])
    told = np.unique(np.concatenate([strong, growing, grid([1.0], N)]), axis=0)
    asked = np.array([[256.0, 100.0], [256.0, 100 * 256 ** (1 / 3)]])
    missed, said = errors(stencil, told, asked)
    assert np.all(missed < 0.3)
    assert np.all(np.log1p(missed) < said.doubts.half_width())


def test_lines_through_one_point_are_told_as_such_and_doubted():
    lines = np.unique(np.concatenate([grid(P, [100.0]), grid([1.0], N)]), axis=0)
    missed, said = errors(stencil, lines, np.array([[256.0, 330.0]]))
    assert not said.together.all()
    assert np.all(np.log1p(missed) < said.doubts.half_width())
    _, full = errors(stencil, grid(P, N), np.array([[256.0, 330.0]]))
    assert full.together.all()
    assert said.doubts.half_width() > 2 * full.doubts.half_width()


def test_intervals_hold_for_programs_it_did_not_see():
    hits = []
    for seed in range(6):
        random = np.random.default_rng(seed)
        a, b, c = 10 ** random.uniform(-2, 0, 3)

        def law(x, a=a, b=b, c=c):
            return (a + b * x[:, 1] / x[:, 0] + c * np.log2(2 * x[:, 0])) * x[:, 2] ** -0.7

        missed, said = errors(law, grid(P, N, THETA), grid([512.0], N, THETA), 0.02, seed)
        hits += (np.log1p(missed) <= np.hypot(said.doubts.half_width(), 0.033)).tolist()
    assert np.mean(hits) > 0.85


# laws


@settings(max_examples=15, deadline=None)
@given(seed=small, unit=st.floats(1e-3, 1e3))
def test_the_unit_of_an_axis_does_not_matter(seed, unit):
    told, time = some_runs(seed)
    asked = np.array([[64.0, 330.0, 0.1], [4.0, 120.0, 0.3]])
    scale = np.array([1.0, unit, 1.0])
    one = forecast_surface(told, time, asked)
    other = forecast_surface(told * scale, time, asked * scale)
    np.testing.assert_allclose(one.log_time, other.log_time, atol=2e-3)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("axis", [0, 1])
def test_the_interval_widens_with_the_reach(law, axis):
    asked = np.repeat([[128.0, 330.0]], 5, axis=0)
    asked[:, axis] *= 2.0 ** np.arange(5)
    _, said = errors(law, grid(P, N), asked, noise=0.01)
    assert np.all(np.diff(said.doubts.half_width()) > 0)
    np.testing.assert_allclose(said.beyond[:, axis], np.log(2) * np.arange(5), atol=1e-9)


def test_processors_alone_are_forecast_as_a_series_is():
    p, time = P[:, None], stencil(np.column_stack([P, np.full(8, 200.0)]))
    asked = np.array([[3.0], [256.0], [1024.0]])
    said = forecast_surface(p, time, asked)
    curve = curve_from(P[None], time[None], np.array([8]), np.zeros(1), asked[:, 0])
    np.testing.assert_allclose(said.log_time, curve.log_time[0])
    np.testing.assert_allclose(said.doubts.half_width(), curve.half_width[0])


# parts


def test_an_axis_with_zero_is_taken_as_it_is():
    found = coordinates_of(np.array([[1.0, -1.0], [8.0, 3.0]]))
    assert found.is_log.tolist() == [True, False]
    told = grid(P, [0.0, 1.0, 2.0])
    said = forecast_surface(told, 1 / told[:, 0] + told[:, 1], np.array([[256.0, 1.5]]))
    assert np.all(np.isfinite(said.log_time))


def test_sizes_with_different_numbers_of_own_counts_are_asked_for_together():
    """Pads of the shorter curves are no steps: a warning would be an error here."""
    points = np.array([[p, n] for n, last in ((1.0, 6), (2.0, 4)) for p in 2.0 ** np.arange(last)])
    time = points[:, 1] * (0.1 + 10.0 / points[:, 0])
    asked = np.array([[64.0, 1], [64, 2]])
    both = np.exp(forecast_surface(points, time, asked).log_time)
    alone = [float(np.exp(forecast_surface(points, time, x[None]).log_time[0])) for x in asked]
    assert both == pytest.approx(alone, rel=1e-9)


def test_where_the_values_asked_for_have_counts_of_their_own_these_decide():
    """Of two sizes one turns and one does not: what is asked of either is as its own runs go."""
    p = 2.0 ** np.arange(6)
    turning, ideal = 100 / p + 0.2 * p, 400 / p + 1
    axes = np.array([[x, n] for x in p for n in (1000.0, 2000.0)])
    time = np.column_stack([turning, ideal]).ravel()
    asked = np.array([[128.0, 1000.0], [128.0, 2000.0], [128.0, 1500.0], [16.0, 1000.0]])
    said = forecast_surface(axes, time, asked)
    alone = [
        curve_from(p[None], t[None], np.array([6]), np.array([0.0]), np.array([128.0]))
        for t in (turning, ideal)
    ]
    for i, curve in enumerate(alone):
        assert abs(said.log_time[i] - curve.log_time[0, 0]) < 0.1
    assert said.weights[:, -1].tolist() == [OWN_SHARE, OWN_SHARE, 0, 0]
    np.testing.assert_allclose(said.weights.sum(axis=1), 1)
    one = forecast_surface(axes, time, asked[:1])
    np.testing.assert_allclose(one.log_time, said.log_time[:1])
