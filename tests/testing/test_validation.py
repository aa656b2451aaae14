"""The suites that subjects and launchers of other packages pass, and what they name."""

import sys
from dataclasses import replace

import pytest

from parcast.arrays.subject import ArraySubject
from parcast.errors import ParameterError, RunFailed
from parcast.pipeline.trials.observation import PipelineLayout
from parcast.pipeline.trials.subject import PipelineSubject
from parcast.pipeline.trials.work import Work
from parcast.testing.validation import check_launcher, check_subject
from parcast.trials.command import CommandLauncher
from parcast.trials.trial import SizedCase
from tests.arrays.trials.made import KnownCosts, Machine, case_of, request
from tests.pipeline.trials.made import Engine

CASE = SizedCase(3, 1)


def pipeline(schedule):
    """Give a schedule of the pipeline, with as many cores as ranks."""
    return PipelineSubject(
        schedule=schedule, layouts=(PipelineLayout(2, 1), PipelineLayout(4, 1)),
        sizes=(64, 128), small=(16, 32),
        work=Work(), batch=1, repetitions=2, cores=16, share=1.0, link=None, rounds=1, each=0.02,
    )  # fmt: skip


def arrays(folder):
    """Give a request of array I/O, on a machine of known costs."""
    from parcast.arrays.calibration.fitting import placement_of

    case = case_of(request())
    return ArraySubject(
        layout=case.layout, requests=(case,), repetitions=4, cores=2, folder=folder,
        costs=KnownCosts(), placement=placement_of(case.layout, None),
    )  # fmt: skip


@pytest.mark.parametrize("schedule", ["adaptive", "source"])
def test_each_schedule_of_the_pipeline_is_a_subject(schedule):
    found = check_subject(pipeline(schedule), Engine())
    assert all(abs(x.error()) < 0.06 for x in found.comparisons())


def test_requests_of_array_io_are_a_subject(tmp_path):
    [found] = check_subject(arrays(tmp_path), Machine()).comparisons()
    assert found.error() == pytest.approx(0.0)


def test_what_a_subject_lacks_is_named():
    with pytest.raises(ParameterError, match="subject must have name, title, law, rule"):
        check_subject(object(), Engine())


@pytest.mark.parametrize(
    ("predicted", "says"),
    [
        (lambda _: 3.0, "must give a parcast.validation.subject.Predicted, got 3.0"),
        (lambda known: replace(known, time=0.0), "must predict a time above 0, got 0 s"),
        (lambda known: replace(known, lower=9e9), "must predict a time within its interval"),
    ],
)
def test_a_prediction_that_is_none_is_named(monkeypatch, predicted, says):
    own = PipelineSubject.predict
    monkeypatch.setattr(PipelineSubject, "predict", lambda x, case: predicted(own(x, case)))
    with pytest.raises(ParameterError, match=f"predict of adaptive {says}"):
        check_subject(pipeline("adaptive"), Engine())


def test_a_launcher_that_reports_too_little_or_something_else_is_named():
    with pytest.raises(ParameterError, match="launcher must report 1 trials of SizedCase"):
        check_launcher(lambda *_, **__: None, [CASE])
    with pytest.raises(ParameterError, match="launcher must report trials of the cases"):
        check_launcher(lambda _, report: report("done"), [CASE])
    quick = lambda launch, report: report(launch.trial(CASE, 0.0, None, repetition=1))  # noqa: E731 - short
    with pytest.raises(ParameterError, match="got one that took 0 s"):
        check_launcher(quick, [CASE])


def test_a_command_is_run_once_for_each_run(tmp_path):
    said = tmp_path / "said"
    code = f"import sys; open({str(said)!r}, 'a').write(' '.join(sys.argv[1:]) + ';')"
    command = [sys.executable, "-c", code, "{n}", "{p}"]
    made = check_launcher(CommandLauncher(command=command), [CASE, SizedCase(4, 1)])
    assert said.read_text() == "3 1;4 1;3 1;4 1;"
    assert [(x.case.n, x.repetition) for x in made] == [(3, 1), (4, 1)]
    assert all(x.seconds > 0 for x in made)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ([sys.executable, "-c", "import sys; sys.exit('no such {n}')"], "ended with status 1: no"),
        (["no-such-program-anywhere"], "cannot be started: there is no such program"),
    ],
)
def test_a_command_that_fails_is_told(command, says):
    with pytest.raises(RunFailed, match=says):
        check_launcher(CommandLauncher(command=command), [CASE])


def test_braces_of_other_names_are_refused():
    with pytest.raises(ParameterError, match=r"command must have no other braces than {n}, {p}"):
        check_launcher(CommandLauncher(command=["echo", "{size}"]), [CASE])
