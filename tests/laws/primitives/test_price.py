"""Primitives as measured: forms are recovered, the tree is standard, faults are told."""

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.errors import FitFailed, ParameterError
from parcast.laws.primitives.measured import FORMS, fit_primitive, primitive_time

P, M = (x.ravel() for x in np.meshgrid([2.0, 4, 8, 16, 32, 64], [8.0, 1e3, 1e5, 1e6]))
GROWS = {"constant": np.zeros_like, "logarithmic": np.log2, "linear": lambda p: p}


@pytest.mark.parametrize("a", FORMS)
@pytest.mark.parametrize("b", FORMS)
def test_the_forms_of_exact_times_are_found(a, b):
    time = 2e-5 + 1e-5 * GROWS[a](P) + (1e-8 + 4e-9 * GROWS[b](P)) * M
    fit = fit_primitive(P, M, time)
    assert (fit.startup_form, fit.byte_form) == (a, b)
    assert fit.error < 1e-6
    assert fit.time(P, M) == pytest.approx(time, rel=1e-6)


def test_noisy_times_are_met_beyond_what_was_measured():
    random = np.random.default_rng(3)
    time = (3e-5 * np.log2(P) + 1.2e-8 * np.log2(P) * M) * np.exp(random.normal(0, 0.05, P.size))
    fit = fit_primitive(P, M, time)
    assert fit.byte_form == "logarithmic"
    assert 0.02 < fit.error < 0.1
    expected = 3e-5 * 8 + 1.2e-8 * 8 * 1e6
    assert float(fit.time(256, 1e6)) == pytest.approx(expected, rel=0.15)


def test_what_is_described_is_what_was_fitted():
    time = 2e-5 * np.log2(P) + (1e-8 + 4e-9 * np.log2(P)) * M
    fit = fit_primitive(P, M, time)
    machine = Machine(primitives={"broadcast": fit.described()})
    asked = {"p": np.array([1.0, 2, 64, 1000])}
    told = primitive_time("broadcast", machine, asked, np.asarray(1e5))
    assert told == pytest.approx(fit.time(asked["p"], 1e5), rel=1e-4)
    assert told[0] == 0


def test_times_that_never_grow_with_the_bytes_have_no_bandwidth():
    fit = fit_primitive(P, M, 0 * P + 1e-5)
    assert "bandwidth" not in fit.described()


def test_bytes_without_a_rate_are_refused():
    one = {"p": np.array([2.0])}
    with pytest.raises(ParameterError, match=r"network\.bandwidth must be given .* of kind send"):
        primitive_time("send", Machine(), one, np.asarray(1.0))
    machine = Machine(primitives={"send": {"startup": "1 us"}})
    with pytest.raises(ParameterError, match=r"primitives\.send\.bandwidth must be given"):
        primitive_time("send", machine, one, np.asarray(1.0))
    assert primitive_time("send", machine, one, np.asarray(0.0)) == pytest.approx([1e-6])


@pytest.mark.parametrize(
    ("p", "m", "time", "kind", "says"),
    [
        ([2, 4], [1, 2], [1, 1], FitFailed, "three processor counts and two sizes or more, got 2"),
        ([2, 4, 8], [1, 1, 1], [1, 1, 1], FitFailed, "got 3 and 1"),
        ([1, 2, 4], [1, 2, 3], [1, 1, 1], ParameterError, "p must be at least 2, got 1"),
        ([2, 4, 8], [1, 2], [1, 1, 1], ParameterError, "the same length, got 3, 2 and 3"),
        ([2, 4, 8], [1, 2, -3], [1, 1, 1], ParameterError, "volume must be at least 0, got -3"),
        ([2, 4, 8], [1, 2, 3], [1, 1, -1], ParameterError, "time must be above 0, got -1"),
    ],
)
def test_a_benchmark_that_tells_nothing_is_refused(p, m, time, kind, says):
    with pytest.raises(kind, match=says):
        fit_primitive(p, m, time)
