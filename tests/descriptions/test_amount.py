"""Amounts: units, formulas, uncertainty, and what replaces them."""

import numpy as np
import pytest

from parcast.descriptions.amount import Amount
from parcast.errors import ParameterError


def amount(value, *dimensions, name="io.transfer"):
    return Amount.of(value, dimensions or ("time",), name=name)


def test_a_formula_is_computed_at_every_point():
    found = amount("2 s * p / d")({"p": np.array([1.0, 4])[:, None], "d": [1.0, 2]})
    np.testing.assert_array_equal(found, [[2, 1], [8, 4]])


@pytest.mark.parametrize(
    ("text", "spread"),
    [
        ("6.9 s", 0),
        ("6.9 s +- 5%", 0.05),
        ("6.9 s +/- 5%", 0.05),
        ("6.9 s \u00b1 0.69 s", 0.1),
        ("2 s * p +- 20%", 0.2),
    ],
)
def test_what_follows_plus_minus_is_its_spread(text, spread):
    assert amount(text).spread == pytest.approx(spread)


def test_a_value_of_its_name_replaces_it_and_a_factor_scales_it():
    found = amount("2 s * p")
    assert float(found({"p": 3, "io.transfer": 7})) == 7
    assert float(found({"p": 3, "io.transfer*": 2})) == 12
    assert float(found({"io.transfer": 7, "io.transfer*": 2})) == 14


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("6.9", 'io.transfer must be a time such as "150 us", got "6.9"'),
        ("6.9 MB", 'got "6.9 MB", which is a size.'),
        (True, "got True."),
        (None, "got None."),
        ([1], "got [1]."),
        ("6.9 s +- 5% +- 3%", 'at most one "+-"'),
        ("6.9 s +- 5 MB", "which is a size"),
        ("6.9 s +- -5%", "between 0 and 10 times"),
        ("6.9 s +- 2000%", "between 0 and 10 times"),
        ("0 s +- 1 s", "between 0 and 10 times"),
        ("2 s * p +- 1 s", "must be a percentage, as the value depends on p"),
    ],
)
def test_what_is_no_amount_is_refused(value, message):
    with pytest.raises(ParameterError) as refusal:
        amount(value)
    assert message in str(refusal.value)


def test_what_fits_no_dimension_names_all():
    with pytest.raises(ParameterError) as refusal:
        amount("6.9 MB", "time", "operations", name="compute.parallel")
    assert str(refusal.value) == (
        'compute.parallel must be a time such as "150 us" or a number of operations such as '
        '"830 Mflop", got "6.9 MB".'
    )


def test_what_every_dimension_refuses_alike_is_said_once():
    with pytest.raises(ParameterError, match='must use known names, got "q"'):
        amount("q * 3 s", "time", "operations")


def test_a_negative_value_says_where():
    with pytest.raises(ParameterError, match=r"is -1 at d = 2, p = 3\. Check the formula"):
        amount("1 s * (d - p)")({"p": [1.0, 3], "d": 2.0})


def test_a_negative_constant_is_refused_when_it_is_read():
    with pytest.raises(ParameterError, match=r'at least 0, got "-3 s"\. Check its sign\.'):
        amount("-3 s")


def test_what_is_not_finite_is_said_to_be_so():
    with pytest.raises(ParameterError, match="which is not a finite number"):
        amount("1e400 s", "time", "operations")
