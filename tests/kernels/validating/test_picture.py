"""The picture of a validation: what is in it, and that it is the same each time."""

from dataclasses import replace

import pytest

from parcast.kernels.validating.picture import figure_of_validation
from parcast.kernels.validating.validate import validate
from parcast.show.canvas import svg_text
from tests.kernels.validating.validated import FakeRunner, lawful, subject


@pytest.fixture(scope="module")
def told():
    runner = FakeRunner(time=lambda n, p: lawful(n, p) * (n / 1e6) ** 0.4)
    return validate([f"sort{i}" for i in range(5)], runner=runner, subject=subject, quick=True)


def test_it_shows_laws_runs_and_verdicts(told):
    text = svg_text(figure_of_validation(told))
    for words in (
        "sort0: disagrees",
        "law, p = 1",
        "law, p = 2",
        "calibrated",
        "outside its interval",
        "90 % interval",
        "Predicted from small runs, and measured",
        "n [keys]",
    ):
        assert words in text
    assert "pale: disturbed" not in text


def test_medians_that_others_disturbed_are_pale():
    told = validate("sort", runner=FakeRunner(), subject=subject, quick=True)
    first, *others = told.programs[0].comparisons
    first = replace(first, runs=tuple(replace(run, is_disturbed=True) for run in first.runs))
    program = replace(told.programs[0], comparisons=(first, *others))
    assert "pale: disturbed" in svg_text(figure_of_validation(replace(told, programs=(program,))))


def test_one_program_that_holds_and_one_that_was_not_compared_can_be_drawn(told):
    (one,) = validate("sort", runner=FakeRunner(), subject=subject).programs
    assert "measured, p = 2" in svg_text(figure_of_validation(replace(told, programs=(one,))))
    waiting = tuple(replace(x, runs=()) for x in one.comparisons)
    none = replace(told, programs=(replace(one, comparisons=waiting, holds=None),))
    assert "sort: not compared" in svg_text(none.plot().figure)


def test_the_same_validation_gives_the_same_bytes(told, tmp_path):
    for name in ("a.svg", "b.svg"):
        told.save(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
