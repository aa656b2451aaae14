"""`parcast.errors`: what the messages say, word for word, and what the errors carry."""

import copy
import pickle
import re

import numpy as np
import pytest

import parcast
from parcast.applications.text.documents.document import DocumentError
from parcast.arrays.library.client import Lost
from parcast.cli.failures import NoAnswer
from parcast.descriptions.description import DescriptionError
from parcast.descriptions.machine import MissingFigure
from parcast.errors import (
    Argument,
    FileProblems,
    FitFailed,
    NoRunEnded,
    ParameterError,
    ParcastError,
    Problem,
    RunFailed,
    as_list,
    as_number,
    require,
    selection,
    spelled,
)
from parcast.expressions import Overflow
from parcast.importers.content import MissingLibrary
from parcast.needs import MissingPackage
from parcast.pipeline.engine.failures import Unfit
from parcast.trials.clock import TimeIsOver
from parcast.units import OtherDimension

RUNS = parcast.Measurements(p=[1, 2, 4], time=[8.0, 4.2, 2.3])


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
            "a.csv: 42 problems\n  line 2  p  must be above 0.\n  and 41 more.",
        ),
        ([], 2, "a.csv: 2 problems\n  and 2 more."),
    ],
)
def test_all_faults_of_a_file_are_listed_in_columns(problems, unlisted, says):
    assert str(FileProblems("a.csv", problems, unlisted=unlisted)) == says


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


@pytest.mark.parametrize("value", [None, "5s", "5", b"5", [1], {}, 10**400])
def test_what_is_no_number_is_refused_in_words(value):
    with pytest.raises(ParameterError, match=r"longest must be a number, got .*Give seconds"):
        as_number("longest", value, hint="Give seconds.")
    assert as_number("longest", np.float64(1e3), hint="") == 1000.0


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda: parcast.read_machine(None), "source must be a path or a stream, got None."),
        (lambda: parcast.import_timings(3), "paths must be a sequence, got 3."),
        (lambda: parcast.run_kernel(3, n=1), "name must be a program, got 3."),
        (lambda: parcast.run_kernel("sort", n=1, seed="x"), "seed must be a number, got 'x'."),
        (lambda: parcast.knee(RUNS, upto=64, min_efficiency="x"), "min_efficiency must be a num"),
        (lambda: parcast.knee(RUNS, upto="64"), "upto must be a number, got '64'."),
        (lambda: parcast.calibrate(only=3), "only must be a sequence, got 3."),
        (lambda: parcast.calibrate(ranks="4"), "ranks must be a number, got '4'."),
        (lambda: parcast.characterise(3), "runs must be a sequence, got 3."),
        (lambda: parcast.validate("sort", p=2.5), "p must be a sequence, got 2.5."),
        (lambda: parcast.validate("sort", longest=None), "longest must be a number, got None."),
        (lambda: parcast.forecast(RUNS, p=8, by=3), "by must be a sequence, got 3."),
        (lambda: parcast.Measurements("x.csv"), "first: parcast.read_measurements('x.csv')."),
        (lambda: parcast.match(RUNS, None), "machines must be a sequence, got None."),
        (lambda: parcast.simulate(None, None, p=2), "program must be a Program, got NoneType."),
        (lambda: parcast.largest_regions(RUNS), "told must be a Forecast, got Measurements."),
        (lambda: parcast.import_timings("x", 3), "format must be a known format, got 3."),
        (lambda: parcast.run_kernel("sort", n=1, directory=3), "directory must be a path, got 3."),
    ],
)
def test_arguments_of_another_kind_are_refused_in_words(ask, says):
    with pytest.raises(ParameterError, match=re.escape(says)):
        ask()


def _missing_library():
    missing = MissingLibrary("a.cubex", [Problem(message="needs pycubexr.")])
    missing.name = "pycubexr"
    return missing


FACTS = {"must": "be at least 1", "got": "0", "hint": ("Give such as ", Argument("p", [1]), ".")}
ERRORS = [
    ParcastError("It went wrong."),
    ParameterError("p", **FACTS),
    ParameterError("A plan needs more memory than there is."),
    Overflow("x", **FACTS),
    OtherDimension("x", **FACTS),
    DescriptionError("Machine", [Problem(message="must be given.", field="name")]),
    FitFailed("All times are at p = 8.", outcome="No forecast."),
    RunFailed("It did not end."),
    Unfit("The merge takes numbers."),
    TimeIsOver("The time limit was reached."),
    Lost.of(RunFailed("The disk is full.")),
    RunFailed(("Run it with ", Argument("cpu", python="cpu=None"), ".")),
    FileProblems("a.csv", [Problem(message="must be text.", line=3, field="p")], unlisted=2),
    NoRunEnded("a.csv", [Problem(message="must have a run that ended.")]),
    DocumentError("a.jsonl", "must be a JSON object.", line=3, offset=120),
    _missing_library(),
    MissingFigure("compute.rate", must="be given"),
    MissingPackage("Figures need matplotlib.", name="matplotlib"),
    NoAnswer("There is none."),
]


def _subclasses(kind):
    return {kind}.union(*map(_subclasses, kind.__subclasses__()))


def test_every_class_of_errors_is_copied_below():
    ours = {kind for kind in _subclasses(ParcastError) if kind.__module__.startswith("parcast")}
    assert ours == {type(error) for error in ERRORS} - {NoAnswer}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy]
)
def test_errors_survive_pickling_and_copying(error, again):
    error.add_note("Seen in July.")
    other = again(error)
    assert type(other) is type(error)
    assert (str(other), other.args) == (str(error), error.args)
    assert vars(other) == vars(error)
    assert getattr(other, "name", None) == getattr(error, "name", None)


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"must": "be at least 1"}, "p must be at least 1."),
        ({"must": "be at least 1", "got": "0"}, "p must be at least 1, got 0."),
        ({"must": "be given", "hint": "Add it."}, "p must be given. Add it."),
        (FACTS, "p must be at least 1, got 0. Give such as p=[1]."),
        ({}, "p"),
    ],
)
def test_the_text_is_made_from_the_facts(facts, says):
    error = ParameterError("p", **facts)
    assert str(error) == says
    assert error.fault == says.removeprefix("p ")
    assert (error.must, error.got, error.hint) == (
        facts.get("must", ""),
        facts.get("got"),
        facts.get("hint", ""),
    )
    assert str(ParameterError(**error.facts())) == says
    assert str(error.named("runs")) == says.replace("p", "runs", 1)


def test_a_failure_says_what_there_is_not_and_why():
    error = FitFailed("All times are at p = 8.", outcome="No forecast.")
    assert (error.outcome, error.reason) == ("No forecast.", "All times are at p = 8.")
    assert str(error) == "No forecast. All times are at p = 8."
    assert str(FitFailed(**error.facts())) == str(error)


def test_arguments_in_a_text_are_spelled_as_who_prints_it_likes():
    hint = ("Add it to ", Argument("by"), " or ", selection("machine", "T3E"), ".")
    error = ParameterError("by", must="name it", hint=hint)
    assert str(error) == "by must name it. Add it to by or select(machine='T3E')."
    assert spelled(error.text, lambda argument: f"<{argument.name} {argument.value}>") == (
        "<by None> must name it. Add it to <by None> or <select {'machine': 'T3E'}>."
    )


@pytest.mark.parametrize("value", [None, 3, "abc", b"abc", np.array(3)])
def test_what_is_no_sequence_is_refused_in_words(value):
    with pytest.raises(ParameterError, match=r"p must be a sequence, got .*Give such as \[1, 2\]"):
        as_list("p", value, hint="Give such as [1, 2].")
    assert as_list("p", (1, 2), hint="") == [1, 2]
