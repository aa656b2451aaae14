"""`parcast.expressions`: values worked by hand, laws of arithmetic, refusals, hostile texts."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parcast.expressions
from parcast.errors import ParameterError
from parcast.expressions import Expression

processors = st.integers(1, 10**6)


def refusal(text, **options):
    """What a person is told who writes `text`."""
    with pytest.raises(ParameterError) as caught:
        Expression(text, name="x", **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("6*sqrt(p)", 24.0),
        ("p", 16.0),
        ("7", 7.0),
        (7, 7.0),
        (2.5, 2.5),
        (".5e1 + 2.", 7.0),
        ("p + d - n", 13.0),
        ("-p", -16.0),
        ("+p", 16.0),
        ("p/d/2", 4.0),
        ("p//3", 5.0),
        ("p % 5", 1.0),
        ("17% p", 1.0),
        ("5% 3", 2.0),
        ("p^2", 256.0),
        ("p**2", 256.0),
        ("-p^2", -256.0),  # the power first, as in mathematics
        ("2^3^2", 512.0),  # from the right
        ("p^-1", 0.0625),
        ("(p/4)^(-1/2)", 0.5),
        ("log(exp(p))", 16.0),
        ("log2(p)", 4.0),
        ("log10(100*p/16)", 2.0),
        ("floor(p/3)", 5.0),
        ("ceil(p/3)", 6.0),
        ("abs(d - p)", 14.0),
        ("min(p, d, n)", 2.0),
        ("max(p, d, n)", 16.0),
        ("pi", math.pi),
        ("p > 4", 1.0),
        ("p < 4", 0.0),
        ("p >= 16", 1.0),
        ("p <= 15", 0.0),
        ("p <= 16", 1.0),
        ("p == 16", 1.0),
        ("p != 16", 0.0),
        ("1 if p > 16 else 2 if d > 1 else 3", 2.0),
        ("1if p>4else 2", 1.0),
        ("log(p - 16) if p > 16 else 0", 0.0),
        ("2 if 1 > 0 else p", 2.0),
    ],
)
def test_a_formula_has_the_value_worked_out_by_hand(text, value):
    assert Expression(text)(p=16, d=2, n=5) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        # 4^(-1/6) = 1 / 2^(1/3), and OEIS A002580 gives 2^(1/3) to these digits.
        ("1.40628 MB * (p/4)^(-1/6)", "size", 1406280 / 1.25992104989487316476),
        ("10 MB", "size", 10e6),
        ("10 MB/p", "size", 625e3),
        ("10 MB/d", "size", 5e6),  # the axis d, not a day
        ("10 MB/sqrt(p)", "size", 2.5e6),
        ("32 MB/min(p, 8)", "size", 4e6),
        ("32 MB/max (p, 8)", "size", 2e6),
        ("1 MB + 2 kB*p", "size", 1032e3),
        ("max(0 B, 10 MB - 8 MB*p)", "size", 0.0),
        ("10 MB if p > 4 else 3 MB", "size", 10e6),
        ("(6 MB / (2 MB)) * 5 B", "size", 15.0),
        ("-(7 MB) // (2 MB) * 1 B", "size", -4.0),
        ("7 MB % (2 MB)", "size", 1e6),
        ("ceil(1.5 B)", "size", 2.0),
        ("p * (1 MB > 2 kB) * 1 B", "size", 16.0),
        ("27 MB/s * p", "rate", 432e6),
        ("830 Mflop/p", "operations", 51.875e6),
        ("120 Mflop/s", "operation_rate", 120e6),
        ("35 us", "time", 35e-6),
        ("35 \u00b5s*p", "time", 560e-6),
        ("5 min", "time", 300.0),
        ("5%", "fraction", 0.05),
        ("5% + 1%", "fraction", 0.06),
        ("5% * p", "fraction", 0.8),
        ("5% if p > 4 else 0.5", "fraction", 0.05),
        ("p % 3 / 10", "fraction", 0.1),
    ],
)
def test_a_formula_with_units_is_computed_in_si(text, dimension, value):
    computed = Expression(text, dimension=dimension)(p=16, d=2)
    assert computed == pytest.approx(value, rel=1e-9)


@given(st.lists(processors, min_size=1))
def test_an_array_is_answered_as_its_elements_are(p):
    messages = Expression("6*sqrt(p) if p > 4 else log2(p) + p % 3")
    assert messages(p=p).tolist() == pytest.approx([float(messages(p=n)) for n in p], rel=1e-15)


@given(processors, processors, processors)
def test_arithmetic_agrees_with_that_of_python(p, d, n):
    computed = Expression("-p + d*n/p - (p - d)//n + abs(d - n) % p ^ 0.5")(p=p, d=d, n=n)
    by_python = -p + d * n / p - (p - d) // n + abs(d - n) % p**0.5
    assert computed == pytest.approx(by_python, rel=1e-9)


@pytest.mark.parametrize("text", ["6*sqrt(p)", "1 if p > 4 else max(p, 2)"])
def test_it_travels_to_another_process_and_back(text):
    expression = Expression(text)
    for copied in (pickle.loads(pickle.dumps(expression)), copy.deepcopy(expression)):
        assert copied == expression
        assert copied(p=[1, 16]).tolist() == expression(p=[1, 16]).tolist()


GRAMMAR = "Use numbers, axes, functions, + - * / // % ^, comparisons and conditions."
NAMES = "x must use known names, got"
CALLS = "x must call known functions, got"
PLAIN = "x must be plain arithmetic, got"
SIZE = 'x must be a size such as "10 MB", got'
FORMULA = 'x must be a formula such as "6*sqrt(p)", got'
STAR = "x must have an operator between a number and a name, got"
LIKE = "x must combine quantities of the same kind, got"
BEFORE = "Check it and what comes before it."


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("3 + q", f'{NAMES} "q" at character 5. Known names: d, n, p, pi.'),
        ("sqrt", f'{NAMES} "sqrt" at character 1. Write "sqrt(...)".'),
        ("1 + sqr(p)", f'{CALLS} "sqr(p)" at character 5. Did you mean sqrt?'),
        ("ln(p)", f'{CALLS} "ln(p)" at character 1. Did you mean log?'),
        ("pow(p, 2)", f'{CALLS} "pow(p, 2)" at character 1. Did you mean ^?'),
        ("p(2)", f'{CALLS} "p(2)" at character 1. Write "p*(...)".'),
        ("sin(p)", f'{CALLS} "sin(p)" at character 1. '
         "Known functions: sqrt, log, log2, log10, exp, floor, ceil, abs, min, max."),
        ("sqrt(p, 2)", 'x must give sqrt 1 argument, got "sqrt(p, 2)" at character 1. It has 2.'),
        ("sqrt()", 'x must give sqrt 1 argument, got "sqrt()" at character 1. It has 0.'),
        ("max(p)", 'x must give max at least 2 arguments, got "max(p)" at character 1. It has 1.'),
        ("1 + p.real", f'{PLAIN} "p.real" at character 5. {GRAMMAR}'),
        ("1 < p < 3", f'{PLAIN} "1 < p < 3" at character 1. {GRAMMAR}'),
        ("1 + [p]", f'x must be made of numbers, names and operators, got "[" at character 5. '
         f"{GRAMMAR}"),
        ("2 p", f'{STAR} "2 p" at character 1. Write "2*p".'),
        ("1 + 2p", f'{STAR} "2p" at character 5. Write "2*p".'),
        ("2 min(p, 3)", f'{STAR} "2 min" at character 1. Write "2*min".'),
        ("6*", f'{FORMULA} "" at character 3. {BEFORE}'),
        ("", f'{FORMULA} "" at character 1. {BEFORE}'),
        ("p^2)", f'{FORMULA} ")" at character 4. {BEFORE}'),
        ("1 + 9**9**9", 'x must be finite, got "9**9**9" at character 5. It is inf.'),
        ("p * sqrt(-1)", 'x must be finite, got "sqrt(-1)" at character 5. It is nan.'),
        ("(-8)^(1/3)", 'x must be finite, got "(-8)^(1/3)" at character 1. It is nan.'),
        ("0 if p > 1 else 1/0", 'x must be finite, got "1/0" at character 17. It is inf.'),
        ("3 + 1e999", 'x at character 5 must be a plain number such as 64, got "1e999", '
         "which is not a finite number."),
        ("3 + 5 MB", 'x at character 5 must be a plain number such as 64, got "5 MB", '
         "which is a size."),
        ("p" * 1001, 'x must have at most 1000 characters, got "p" at character 1001. '
         "Write a shorter formula."),
    ],
)  # fmt: skip
def test_a_wrong_formula_is_refused_by_part_and_place(text, says):
    assert refusal(text) == says


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("3 s", 'x at character 1 must be a size such as "10 MB", got "3 s", which is a time.'),
        ("2*3 mb", 'x at character 3 must be a size such as "10 MB", got "3 mb", '
         'whose unit "mb" is not known. Did you mean MB or Mbit?'),
        ("10 MB/s", 'x at character 1 must be a size such as "10 MB", got "10 MB/s", '
         "which is a rate."),
        ("1000*p", f'{SIZE} "1000*p" at character 1. It has no unit. '
         'Let one factor carry the unit, such as "1 B".'),
        ("830", f'{SIZE} "830" at character 1. It has no unit. '
         'Let one factor carry the unit, such as "1 B".'),
        ("1 MB * 2 MB", f'{SIZE} "1 MB * 2 MB" at character 1. It has its unit to the power 2. '
         'Let one factor carry the unit, such as "1 B".'),
        ("1/(2 MB)", f'{SIZE} "1/(2 MB)" at character 1. It has its unit to the power -1. '
         'Let one factor carry the unit, such as "1 B".'),
        ("p*(10 MB + 5)", f'{LIKE} "10 MB + 5" at character 4. Give both sides the same unit.'),
        ("max(0, 1 MB)", f'{LIKE} "max(0, 1 MB)" at character 1. Give both sides the same unit.'),
        ("1 MB if p > 1 else 0", f'{LIKE} "1 MB if p > 1 else 0" at character 1. '
         "Give both sides the same unit."),
        ("1 B if p > 1 B else 0 B", f'{LIKE} "p > 1 B" at character 8. '
         "Give both sides the same unit."),
        ("(1 MB)^2", 'x must have no unit inside a power or function, got "(1 MB)^2" '
         "at character 1. Multiply by the unit afterwards."),
        ("2*sqrt(1 MB)", 'x must have no unit inside a power or function, got "sqrt(1 MB)" '
         "at character 3. Multiply by the unit afterwards."),
    ],
)  # fmt: skip
def test_a_formula_of_the_wrong_dimension_is_refused(text, says):
    assert refusal(text, dimension="size") == says


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "open('/etc/passwd')",
        "().__class__.__bases__[0].__subclasses__()",
        "p[0]",
        "(lambda p: p)(1)",
        "p; p",
        "f'{p}'",
        "max(*p)",
        "sqrt(p)(p)",
        "2(p)",
        "True",
        None,
        math.nan,
        math.inf,
        "p and d",
        "p | p",
        "p # comment",
        "p\t+1",
        "\uff50",  # a full-width p, which Python would read as p
        "0x10",
        "1 else 2",
        "9**9**9",
        "9" * 999,
        "log(0)",
        "exp(exp(exp(exp(9))))",
        "(" * 1000,
        "-" * 999 + "1",
        "sqrt(" * 150 + "p" + ")" * 150,
        "1 if p else " * 80 + "not p",
        "p" * 10**6,
        "(" * 10**6,
        "1" + " " * 10**6 + "2",
    ],
    ids=lambda text: ascii(text)[:30],
)
def test_a_hostile_text_is_refused_in_one_printable_line(text):
    says = refusal(text, dimension="fraction")
    assert says.startswith("x ")
    assert says.isprintable()
    assert len(says) < 300


@given(st.text("pdn0123456789.+-*/%^()<>=!, eqrtMBsif", max_size=40))
def test_any_text_is_computed_or_refused(text):
    result, says = np.zeros(1), "x "
    try:
        result = Expression(text, name="x")(p=[1, 2], d=3, n=[[4], [5]])
    except ParameterError as error:
        says = str(error)
    assert np.isfinite(result).all()
    assert says.startswith("x ")


def test_a_sum_may_have_a_hundred_terms_and_no_more():
    assert Expression("+".join(["p"] * 100))(p=2) == 200
    says = 'x must be nested at most 100 deep, got "p" at character 1. Write a simpler formula.'
    assert refusal("+".join(["p"] * 101)) == says


@pytest.mark.parametrize("exhausted", [MemoryError, RecursionError])
def test_a_parser_out_of_stack_is_a_refusal(monkeypatch, exhausted):
    def parse(*_, **__):
        raise exhausted

    monkeypatch.setattr(parcast.expressions.ast, "parse", parse)
    says = (
        'x must be nested at most 100 deep, got "p + 1" at character 1. Write a simpler formula.'
    )
    assert refusal("p + 1") == says


@pytest.mark.parametrize(
    ("text", "at", "what"),
    [
        ("log(p-1)", {"p": [2, 1]}, "-inf at p = 1"),
        ("1/(p-d)", {"p": [1, 2, 3], "d": [[5], [2]]}, "inf at d = 2, p = 2"),
        ("1/(p-1)/(p-2)", {"p": [3, 2, 1]}, "inf at p = 2"),
        ("sqrt(p-4)", {"p": 1}, "nan at p = 1"),
        ("(p-4)^0.5", {"p": 1}, "nan at p = 1"),
        ("exp(p)", {"p": [1, 1e6]}, "inf at p = 1e+06"),
        ("p % (p-1)", {"p": [1]}, "nan at p = 1"),
        ("p // (p-1)", {"p": [1]}, "inf at p = 1"),
        ("p", {"p": [1, math.nan]}, "nan at p = nan"),
        ("max(1, log(p-2))", {"p": [1]}, "nan at p = 1"),
        ("1 if log(p-2) > 0 else 2", {"p": [3, 1]}, "nan at p = 1"),
        ("1 if sqrt(p-2) else 2", {"p": [3, 1]}, "nan at p = 1"),
    ],
)
def test_a_value_that_is_not_finite_is_refused_with_its_place(text, at, what):
    with pytest.raises(ParameterError) as caught:
        Expression(text, name="x")(**at)
    hint = 'Write a separate value for that case, with "... if ... else ...".'
    assert str(caught.value) == f"x must be finite: {text} is {what}. {hint}"


def test_a_missing_axis_is_named():
    with pytest.raises(ParameterError) as caught:
        Expression("p*d*n", name="x")(p=3)
    assert str(caught.value) == (
        'x must have a value for each variable in its formula, got none for d, n in "p*d*n". '
        "Call it with d=..."
    )
