"""Primitives of a calibration, and of a benchmark that measured little."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.calibration.primitives import ONE_LAUNCH, half_width, primitive_formulas
from parcast.descriptions.machine import PRIMITIVES
from parcast.errors import FitFailed, ParameterError
from parcast.laws.primitives.measured import (
    MOST_SIZES,
    PrimitiveFit,
    chosen_sizes,
    fit_startup,
    measured_primitive,
    with_least_startup,
)
from parcast.show.outline import document_of
from tests.calibration.calibrated import TIMES, WHOLE, sample


def formula(name, calibration=WHOLE):
    return next(x for x in primitive_formulas(calibration) if x.name == name)


def test_of_few_counts_the_line_of_the_largest_is_taken():
    fit = measured_primitive({2: {8: 1e-6, 10**6: 1e-3}, 4: {8: 3e-6, 1000008: 2.003e-3}})
    assert fit.startup == pytest.approx((3e-6, 0), rel=0.01)
    assert fit.time(64, 1e6) == pytest.approx(2.003e-3, rel=1e-3)


def test_of_one_size_at_three_counts_the_startup_is_a_formula():
    fit = measured_primitive({p: {0: 2e-6 * np.log2(p)} for p in (2, 4, 8, 16)})
    assert fit.startup_form == "logarithmic"
    assert fit.described() == {"startup": "2e-06 s*log2(p)"}


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
    unknown = formula("send", replace(WHOLE, tables=two, lines=()))
    assert (unknown.startup_spread, unknown.byte_spread) == (ONE_LAUNCH, ONE_LAUNCH)
    endless = tuple(replace(x, startup_lower=0.0) for x in WHOLE.lines)
    assert document_of(formula("send", replace(WHOLE, lines=endless)))["startup_spread"] is None
    row = document_of(formula("send"))
    assert (row["primitive"], row["p"], row["startup_form"]) == ("send", [2, 4, 8], "constant")


@pytest.mark.parametrize(
    ("value", "lower", "upper", "spread"),
    [
        (100.0, 96.0, 103.0, 100 / 96 - 1),
        (100.0, 99.0, 103.0, 0.03),
        (1.0, 1.0, 1.0, 0.0),
        (1.0, 0.0, 2.0, np.inf),
        (0.0, 0.0, 2.0, None),
        (np.inf, 1.0, np.inf, None),
        (1.0, 0.5, np.inf, np.inf),
        (1.0, np.nan, np.nan, ONE_LAUNCH),
        (3.0, 1.0, 2.0, 2.0),
    ],
)
def test_a_half_width_holds_both_sides(value, lower, upper, spread):
    assert half_width(value, lower, upper) == (spread and pytest.approx(spread))


# The least startup


def rough(name, startup, rate, ranks=(2,)):
    """Calibration of a primitive whose lines are given, though its times bend."""
    bent = {8: 1e-6, 1024: 1.2e-6, 32768: 2e-6, 524288: 5e-4}
    tables = tuple(
        replace(
            table,
            samples=tuple(
                sample(m, t, launches=1, lower=np.nan, upper=np.nan) for m, t in bent.items()
            ),
        )
        for table in WHOLE.tables
        if table.bench == name and table.ranks in ranks
    )
    ends = {"startup_lower": np.nan, "startup_upper": np.nan}
    lines = tuple(
        replace(x, startup=startup, rate=rate, rate_lower=np.nan, rate_upper=np.nan, **ends)
        for x in WHOLE.lines
        if x.bench == name and x.ranks in ranks
    )
    return replace(WHOLE, tables=tables, lines=lines)


def test_with_few_counts_the_line_is_the_formula():
    found = formula("allreduce", rough("allreduce", 1.033e-6, 9.959e9))
    assert found.fit.startup == (1.033e-6, 0.0)
    assert found.fit.byte == pytest.approx((1 / 9.959e9, 0.0))
    assert found.launches == 1
    assert found.startup_spread >= ONE_LAUNCH
    assert found.byte_spread >= ONE_LAUNCH


def test_a_formula_of_many_counts_has_at_least_half_the_shortest_message():
    times = {p: {8: 1e-6 * p, 1024: 1.1e-6 * p, 10**6: 1e-3 * p} for p in (2, 4, 8)}
    none = PrimitiveFit(
        startup_form="constant",
        byte_form="linear",
        startup=(0.0, 0.0),
        byte=(0.0, 1e-9),
        error=0.3,
    )
    raised = with_least_startup(none, times)
    assert raised.startup_form == "linear"
    assert raised.time([2, 4, 8], 0) == pytest.approx([1e-6, 2e-6, 4e-6])
    assert raised.byte == pytest.approx((0.0, 1e-9), rel=0.25)
    assert raised.error >= none.error
    assert with_least_startup(raised, times) is raised


@given(
    st.dictionaries(
        st.sampled_from([2, 3, 4, 8]),
        st.dictionaries(
            st.sampled_from([8, 64, 4096, 10**6]), st.floats(1e-7, 1.0), min_size=2, max_size=4
        ),
        min_size=1,
    )
)
def test_no_startup_is_less_than_half_the_shortest_message(times):
    fit = measured_primitive(times)
    largest = max(times)
    looked_at = times if len(times) >= 3 else {largest: times[largest]}
    for p, of_size in looked_at.items():
        assert fit.time(p, 0.0) >= 0.5 * of_size[min(of_size)] * (1 - 1e-9)


def test_where_the_startup_leaves_nothing_the_bytes_keep_their_time():
    fit = PrimitiveFit(
        startup_form="constant", byte_form="constant", startup=(0, 0), byte=(1e-9, 0), error=0
    )
    raised = with_least_startup(fit, {2: {0: 1.0, 64: 0.1, 128: 0.1}})
    assert (raised.startup, raised.byte) == ((0.5, 0.0), fit.byte)


def test_nothing_measured_is_refused():
    with pytest.raises(FitFailed, match="got no time"):
        measured_primitive({})
    with pytest.raises(FitFailed, match="three processor counts or more, got 2"):
        fit_startup([2, 4], [1e-6, 2e-6])
    with pytest.raises(ParameterError, match="p must be at least 2, got 1"):
        fit_startup([1, 2, 4], [1e-6, 2e-6, 3e-6])


def test_sizes_are_thinned_evenly():
    sizes = [2**i for i in range(23)]
    assert chosen_sizes(sizes[:MOST_SIZES]) == sizes[:MOST_SIZES]
    chosen = chosen_sizes(sizes)
    assert len(chosen) == MOST_SIZES
    assert (chosen[0], chosen[-1]) == (sizes[0], sizes[-1])
