"""The law that times follow: which one is named, and where none is."""

import json

import numpy as np
import pytest

from parcast.forecasting.forecast import forecast
from parcast.timings.measurements import Measurements

P = 2.0 ** np.arange(6)
LAWS = {
    "amdahl": (lambda p: 95 / p + 5, {"a": 5, "b": 95}),
    "linear": (lambda p: 98 / p + 1.95 + 0.05 * p, {"a": 1.95, "b": 98, "c": 0.05}),
    "logarithmic": (lambda p: 99 / p + 2 * np.log2(p) + 1, {"a": 1, "b": 99, "c": 2}),
    "power": (lambda p: 100 * p**-0.5, {"a": 100, "b": -0.5}),
    "quadratic": (lambda p: 100 / p + 1 + 0.01 * p**2, {"a": 1, "b": 100, "c": 0.01}),
}


def told(time, p=P, at=(64, 128)):
    return forecast(Measurements(p=p, time=time), at, scaling="strong")


@pytest.mark.parametrize("name", LAWS)
def test_a_law_that_times_lie_on_is_named_with_its_coefficients(name):
    law, coefficients = LAWS[name]
    (note,) = told(law(P)).notes
    assert note.follows.law == name
    assert note.follows.coefficients == pytest.approx(coefficients, rel=1e-6)
    assert note.follows.residual < 1e-9


def test_it_is_in_the_answer_and_in_its_document():
    answer = told(LAWS["amdahl"][0](P) * np.array([1, 1.002, 0.998, 1, 1.002, 0.999]))
    assert "follows     a + b/p (residual 0.1%)" in str(answer)
    (series,) = json.loads(json.dumps(answer.to_document()))["series"]
    assert series["follows"]["formula"] == "a + b/p"
    assert set(series["follows"]["coefficients"]) == {"a", "b"}


def test_of_laws_that_fit_alike_the_one_with_fewer_terms_is_named():
    noise = np.random.default_rng(2).lognormal(0, 0.003, 6)
    (note,) = told(LAWS["amdahl"][0](P) * noise).notes
    assert note.follows.law == "amdahl"


@pytest.mark.parametrize(
    "time",
    [
        LAWS["amdahl"][0](P[:4]),  # four counts are not enough
        LAWS["amdahl"][0](P) * np.array([1, 1.3, 0.8, 1.2, 0.9, 1.1]),  # no law is near
        np.append(LAWS["amdahl"][0](P[:5]), 30.0),  # the last run is on none
    ],
)
def test_no_law_is_named_where_none_is_recognised(time):
    (note,) = told(time, p=P[: len(time)]).notes
    assert note.follows is None
    assert "follows" not in str(told(time, p=P[: len(time)]))
