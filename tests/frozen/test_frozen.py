"""Answers are what they were: see `record.py`, which says what is kept and when to record anew."""

from importlib.util import find_spec

import pytest

from tests.frozen.record import EXPECTED, cases, differences


@pytest.mark.parametrize("name", cases())
def test_the_answer_is_what_it_was(name):
    case = cases()[name]
    if case.needs and not find_spec(case.needs):
        pytest.skip(f"needs {case.needs}")
    differ = differences(case)
    if differ:
        pytest.fail(
            f"{name} has another answer than was kept:\n\n{differ}\n"
            "If it was meant to change, list the difference in a decision record and run\n"
            f"    python tests/frozen/record.py {name}",
            pytrace=False,
        )


def test_nothing_is_kept_of_cases_that_are_no_more():
    kept = {str(path.relative_to(EXPECTED))[:-4] for path in EXPECTED.rglob("*.txt")}
    assert kept == set(cases())


def test_there_are_cases_of_every_kind():
    assert len(cases()) >= 200
    assert sum(bool(case.python) for case in cases().values()) >= 20
