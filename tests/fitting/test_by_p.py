"""Constants that depend on p: how often they are found, and the formulas that are offered."""

import numpy as np
import pytest

from benchmarks.constants_by_p import asked
from parcast.descriptions.amount import Amount
from parcast.fitting.by_p import constant_by_p

P = np.array([1.0, 2, 4, 8])


@pytest.mark.parametrize(
    ("names", "shape"), [((), ""), (("disk",), "step"), (("network",), "power")]
)
def test_rates_that_differ_by_20_percent_are_found_and_no_others(names, shape):
    told = asked(names, shape, ("compute_s", "disk_s"), tables=15, noise=0.03, size=0.2)
    assert told.found >= 0.9
    assert told.only >= 0.85


def offered(value, spread=0.02, of=""):
    ends = value, value / (1 + spread), value * (1 + spread)
    return constant_by_p("capacities.disk", "rate", P, ends, freedom=20.0, of=of)


def formula_of(found):
    return Amount.of(found.text, ["rate"], name="capacities.disk")


def test_values_on_a_power_of_p_are_offered_as_one():
    found = offered(30e6 * P**-0.5 * np.array([1.0, 1.01, 0.99, 1.0]))
    assert found.formula.startswith("3")
    assert " * p^(-0.5" in found.formula
    assert found.exponent[1] < -0.5 < found.exponent[2]
    assert formula_of(found)({"p": P}) == pytest.approx(30e6 * P**-0.5, rel=0.02)
    assert found.spread == pytest.approx(0.02)


def test_other_values_are_kept_at_each_count_and_joined_between():
    value = np.array([3.56e6, 2.56e6, 1.28e6, 1.28e6])
    found = offered(value)
    assert found.exponent is None
    read = formula_of(found)
    assert read({"p": P}) == pytest.approx(value, rel=1e-3)
    assert read({"p": 3.0}) == pytest.approx(2.56e6 * 1.5**-1.0, rel=1e-3)
    assert read({"p": 64.0}) == pytest.approx(1.28e6, rel=1e-3)
    assert str(found).startswith("3.56 MB/s (3.49 to 3.63 MB/s) at p = 1, 2.56 MB/s")


def test_factors_of_a_formula_multiply_it():
    found = offered(np.array([1.0, 2.0, 1.0, 2.0]), of="10 MB/s * p / 2")
    assert found.dimension == "count"
    value = formula_of(found)({"p": P})
    assert value == pytest.approx(5e6 * P * np.array([1.0, 2.0, 1.0, 2.0]), rel=1e-3)


def test_a_warning_says_that_times_alone_may_mistake_another_rate():
    found = offered(30e6 * P**-0.5)
    said = found.warning("15 MB/s (10 to 20 MB/s)", of_times=True)
    assert said.startswith("capacities.disk depends on p, by up to 183%: 30.0 MB/s (29.4 to ")
    assert "Times alone may mistake another rate for it: add their parts. Write a formula" in said
    assert "Times alone" not in found.warning("15 MB/s (10 to 20 MB/s)")
