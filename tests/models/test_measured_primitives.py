"""Primitives of a calibration, and of a benchmark that measured little."""

from dataclasses import replace

import numpy as np
import pytest

from parcast.errors import FitFailed, ParameterError
from parcast.machine import PRIMITIVES
from parcast.models.calibrated_primitives import half_width, primitive_formulas
from parcast.models.measured_primitives import MOST_SIZES, chosen_sizes, measured_primitive
from parcast.models.primitives import NO_BYTES, fit_startup
from tests.calibrated import TIMES, WHOLE


def formula(name, calibration=WHOLE):
    return next(x for x in primitive_formulas(calibration) if x.name == name)


def test_of_few_counts_the_line_of_the_largest_is_taken():
    fit = measured_primitive({2: {8: 1e-6, 10**6: 1e-3}, 4: {8: 3e-6, 1000008: 2.003e-3}})
    assert fit.startup == pytest.approx((3e-6, 0), rel=0.01)
    assert fit.time(64, 1e6) == pytest.approx(2.003e-3, rel=1e-3)


@pytest.mark.parametrize("times", [{4: {8: 3e-6}}, {2: {8: 1e-6, 64: 1e-6}, 4: {8: 3e-6}}])
def test_of_one_size_there_is_a_startup_only(times):
    fit = measured_primitive(times)
    assert fit.byte_form == NO_BYTES
    assert fit.described() == {"startup": "3e-06 s"}


def test_of_one_size_at_three_counts_the_startup_is_a_formula():
    fit = measured_primitive({p: {0: 2e-6 * np.log2(p)} for p in (2, 4, 8, 16)})
    assert fit.startup_form == "logarithmic"
    assert fit.described() == {"startup": "2e-06 s*log2(p)"}


def test_nothing_measured_is_refused():
    with pytest.raises(FitFailed, match="got no time"):
        measured_primitive({})
    with pytest.raises(FitFailed, match="three counts of processors or more, got 2"):
        fit_startup([2, 4], [1e-6, 2e-6])
    with pytest.raises(ParameterError, match="p must be at least 2, got 1"):
        fit_startup([1, 2, 4], [1e-6, 2e-6, 3e-6])


def test_sizes_are_thinned_evenly():
    sizes = [2**i for i in range(23)]
    assert chosen_sizes(sizes[:MOST_SIZES]) == sizes[:MOST_SIZES]
    chosen = chosen_sizes(sizes)
    assert len(chosen) == MOST_SIZES
    assert (chosen[0], chosen[-1]) == (sizes[0], sizes[-1])


@pytest.mark.parametrize("name", PRIMITIVES)
def test_the_formulas_of_a_calibration_are_what_it_was_made_of(name):
    found = formula(name)
    assert found.counts == (2, 4, 8)
    assert (found.placement, found.shares_a_core) == ("own", False)
    assert found.holds_for_every_p
    assert found.fit.error < 1e-6
    m = 0 if name == "barrier" else 12345
    for p in found.counts:
        assert found.fit.time(p, m) == pytest.approx(TIMES[name](p, m), rel=1e-6)
    assert found.startup_spread == pytest.approx(1 / 0.98 - 1)
    assert found.byte_spread == (None if name == "barrier" else pytest.approx(1 / 0.97 - 1))


def test_the_price_of_one_formula_is_in_its_spread():
    crooked = tuple(
        replace(table, samples=tuple(replace(x, time=x.time * 3) for x in table.samples))
        if (table.bench, table.ranks) == ("send", 4)
        else table
        for table in WHOLE.tables
    )
    found = formula("send", replace(WHOLE, tables=crooked))
    assert found.fit.error > 0.3
    assert found.startup_spread == pytest.approx(1.6448536 * found.fit.error)


def test_what_is_not_settled_or_has_outliers_is_told():
    two = tuple(
        replace(table, samples=tuple(replace(x, settled=False, outliers=2) for x in table.samples))
        for table in WHOLE.tables
        if table.ranks < 8
    )
    crowded = [x for x in primitive_formulas(WHOLE) if x.shares_a_core]
    assert {x.counts for x in crowded} == {(16, 32)}
    found = formula("barrier", replace(WHOLE, tables=two))
    assert not found.is_settled
    assert found.outliers == 4
    assert not found.holds_for_every_p
    assert formula("send", replace(WHOLE, tables=two, lines=())).startup_spread is None
    endless = tuple(replace(x, startup_lower=0.0) for x in WHOLE.lines)
    assert formula("send", replace(WHOLE, lines=endless)).row()["startup_spread"] is None
    row = formula("send").row()
    assert (row["primitive"], row["p"], row["startup_form"]) == ("send", [2, 4, 8], "constant")


@pytest.mark.parametrize(
    ("value", "lower", "upper", "spread"),
    [
        (100.0, 96.0, 103.0, 100 / 96 - 1),
        (100.0, 99.0, 103.0, 0.03),
        (1.0, 1.0, 1.0, None),
        (1.0, 0.0, 2.0, np.inf),
        (0.0, 0.0, 2.0, None),
        (1.0, 0.5, np.inf, None),
        (3.0, 1.0, 2.0, None),
    ],
)
def test_a_half_width_holds_both_sides(value, lower, upper, spread):
    assert half_width(value, lower, upper) == (spread and pytest.approx(spread))
