"""`parcast.errors`: what the messages say, word for word, and what the errors carry."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import (
    FileProblems,
    FitFailed,
    ParameterError,
    ParcastError,
    Problem,
    require,
)


@pytest.mark.parametrize(
    ("ours", "resembles"),
    [(ParameterError, ValueError), (FileProblems, ValueError), (FitFailed, ArithmeticError)],
)
def test_each_error_is_ours_and_the_builtin_it_resembles(ours, resembles):
    assert issubclass(ours, ParcastError)
    assert issubclass(ours, resembles)


@pytest.mark.parametrize(
    ("problems", "unlisted", "says"),
    [
        ([Problem(message="is empty.")], 0, "a.csv: 1 problem\n  file  is empty."),
        (
            [Problem(message="must be a number.", line=3)],
            0,
            "a.csv: 1 problem\n  line 3  must be a number.",
        ),
        (
            [
                Problem(line=2, field="nodes", message="must be above 0, got -4."),
                Problem(line=12, field="latency", message="is not known."),
                Problem(message="has no name."),
            ],
            0,
            "a.csv: 3 problems\n"
            "  line 2   nodes    must be above 0, got -4.\n"
            "  line 12  latency  is not known.\n"
            "  file              has no name.",
        ),
        (
            [Problem(line=2, field="p", message="must be above 0.")],
            41,
            "a.csv: 42 problems\n  line 2  p  must be above 0.\n  and 41 more of the same kinds.",
        ),
        ([], 2, "a.csv: 2 problems\n  and 2 more of the same kinds."),
    ],
)
def test_all_faults_of_a_file_are_listed_in_columns(problems, unlisted, says):
    assert str(FileProblems("a.csv", problems, unlisted=unlisted)) == says


def test_file_problems_carry_their_facts():
    fault = Problem(line=2, field="p", message="must be above 0.")
    error = FileProblems("a.csv", [fault], unlisted=3)
    assert (error.path, error.problems, error.unlisted) == ("a.csv", (fault,), 3)
    assert (fault.line, fault.field, fault.message) == (2, "p", "must be above 0.")


@pytest.mark.parametrize(
    ("value", "ok", "got"),
    [
        (0, False, "0"),
        (0.25, False, "0.25"),
        (True, False, "1"),
        ([4.0, np.nan], [True, False], "nan"),
        ([[1, 2], [3, 4]], [[True, True], [False, False]], "3"),
        ([7, 8, 9], False, "7"),
        (["a", None], [True, False], "None"),
    ],
)
def test_a_refusal_names_the_first_element_that_is_wrong(value, ok, got):
    with pytest.raises(ParameterError) as caught:
        require("p", value, ok, must="be at least 1", hint="Count processors from 1.")
    assert str(caught.value) == f"p must be at least 1, got {got}. Count processors from 1."


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_what_is_in_the_domain_is_let_through(values):
    require("x", values, np.asarray(values) >= -np.inf, must="be a number", hint="Check it.")


@given(st.lists(st.integers(0, 50)), st.integers(-50, -1), st.lists(st.integers(-50, 50)))
def test_whatever_follows_the_first_wrong_element_is_not_named(good, bad, rest):
    values = [*good, bad, *rest]
    with pytest.raises(ParameterError) as caught:
        require("x", values, np.asarray(values) >= 0, must="be 0 or more", hint="Drop it.")
    assert str(caught.value) == f"x must be 0 or more, got {bad}. Drop it."
