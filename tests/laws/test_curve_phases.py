"""Phases of the laws of the processors alone: formulas, domains, use in programs and fits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program, laws
from parcast.errors import ParameterError
from parcast.fitting.fit import fit
from parcast.forecasting.own_runs.ensemble import LAWS
from parcast.laws.curves import USL
from parcast.timings.measurements import Measurements
from tests.laws.published import usl_formula

CURVES = {**LAWS, USL.name: USL}

GROWING = {"fixed": "2 s", "shared": "80 s", "growing": "0.1 s"}
PHASES = {
    "amdahl": {"t1": "82 s", "serial": 2 / 82},
    "usl": {"t1": "82 s", "contention": 2 / 82, "coherency": 0.1 / 82},
    "gustafson": {"time": "3 s"},
    "power": {"t1": "82 s", "exponent": 0.7},
    "logarithmic": GROWING,
    "linear": GROWING,
    "quadratic": GROWING,
}
COEFFICIENTS = {"amdahl": [2, 80], "gustafson": [3], "power": [np.log(82), -0.7]}
P = np.array([1.0, 2.0, 7.0, 64.0, 1000.0])


def program(law, **keys):
    return Program(phase=[{"law": law, **PHASES[law], **keys}])


def test_every_law_of_a_forecast_may_be_named_by_a_phase():
    assert set(PHASES) == set(CURVES) <= set(laws())


@pytest.mark.parametrize("law", PHASES)
def test_times_are_those_of_the_curve_that_a_forecast_fits(law):
    curve, coefficients = CURVES[law], np.array([COEFFICIENTS.get(law, [2, 80, 0.1])])
    time = np.broadcast_to(program(law).times(Machine(), {"p": P}).time, P.shape)
    assert time == pytest.approx(curve.time(P[None], coefficients)[0])
    assert program(law).phase[0].source_of_law == f"{law}: {curve.source}"


@given(p=st.integers(1, 10**6), t1=st.floats(1e-3, 1e6), a=st.floats(0, 1), b=st.floats(0, 1))
def test_the_published_formulas_are_kept(p, t1, a, b):
    own = {"t1": f"{t1!r} s", "contention": a, "coherency": b}
    time = program("usl", **own).times(Machine(), {"p": p}).time
    assert float(time) == pytest.approx(usl_formula(p, t1, a, b))
    time = program("amdahl", t1=f"{t1!r} s", serial=a).times(Machine(), {"p": p}).time
    assert float(time) == t1 * (a + (1 - a) / p)


@pytest.mark.parametrize("law", ["amdahl", "usl", "power", "logarithmic", "quadratic"])
def test_a_fit_finds_the_parameters(law):
    count = np.array([1.0, 2.0, 4.0, 16.0, 64.0, 256.0])
    time = np.broadcast_to(program(law).times(Machine(), {"p": count}).time, count.shape)
    keys = PHASES[law]
    guess = {key: f"1.5 * ({x})" for key, x in keys.items()}
    found = fit(program(law, **guess), Measurements(p=count, time=time), interval=False)
    assert {x.name for x in found.parameters} == set(keys)
    for x in found.parameters:
        assert x.factor == pytest.approx(1 / 1.5, rel=1e-3)


def test_a_fit_keeps_a_fraction_in_its_domain():
    runs = Measurements(p=[1, 2, 4, 8], time=[10.0, 10.3, 10.1, 10.6])
    found = fit(program("amdahl", t1="5 s", serial="50%"), runs, interval=False)
    assert found["serial"].value == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize(
    ("law", "at", "says"),
    [
        ("amdahl", {"serial": 1.5}, 'serial must lie in [0, 1], got 1.5. Write for example "5'),
        ("amdahl", {"t1": 0.0}, 't1 must be above 0, got 0. Write for example "80 s".'),
        ("usl", {"coherency": -1.0}, "coherency must be at least 0, got -1."),
        ("linear", {"growing": np.nan}, "growing must be at least 0, got nan."),
        ("power", {"exponent": np.inf}, "exponent must be at least 0, got inf."),
    ],
)
def test_a_value_outside_its_domain_is_refused(law, at, says, refusal):
    assert refusal(ParameterError, program(law).times, Machine(), {"p": 4.0} | at).startswith(says)
