"""`parcast.importers.hyperfine`: exports with and without parameters, and what is refused."""

import json
from functools import partial
from pathlib import Path

import pytest

from parcast.errors import ParameterError
from parcast.importers.registry import import_timings
from parcast.timings.measurements import Measurements
from tests.importers import refused

read = partial(import_timings, format="hyperfine")
refusal = partial(refused.refusal, read=read)

SAMPLE = Path(__file__).parent / "data" / "hyperfine.json"


@pytest.fixture
def export(file):
    def write(*results, text=None):
        return file(json.dumps({"results": results}) if text is None else text, "export.json")

    return write


def result(command, times, **parameters):
    return {"command": command, "times": times, "parameters": parameters}


def test_parameters_are_axes_and_runs_that_failed_are_left_out():
    told = read([SAMPLE])
    assert told.measurements == Measurements(
        p=[1, 1, 2, 2], time=[8, 8.5, 4.25, 4.75], repetition=[1, 2, 1, 2]
    )
    assert told.notes == (
        "1 failed run was left out: exit status not 0.",
        "threads is used as p, the processor count.",
    )


def test_several_commands_at_one_point_are_callpaths_named_without_values(export):
    path = export(
        result("old 1", [8], p="1"), result("new 1", [6], p="1"),
        result("old 2", [4], p="2"), result("new 2", [3], p="2"),
    )  # fmt: skip
    assert read([path]).measurements == Measurements(
        p=[1, 1, 2, 2], time=[8, 6, 4, 3], callpath=["old {p}", "new {p}"] * 2
    )


def test_commands_that_are_not_at_every_point_are_told_by_their_text(export):
    path = export(
        result("old 1", [8], p="1"), result("new 1", [6], p="1"), result("old 2", [4], p="2")
    )
    callpaths = read([path]).measurements.labels["callpath"].tolist()
    assert callpaths == ["old {p}", "new {p}", "old {p}"]


def test_parameters_that_are_text_tell_callpaths_and_machines(export):
    path = export(
        result("a", [8], p="1", compiler="gcc", machine="T3E"),
        result("b", [6], p="1", compiler="clang", machine="T3E"),
    )
    assert read([path]).measurements == Measurements(
        p=1, time=[8, 6], callpath=["compiler=gcc", "compiler=clang"], machine="T3E"
    )


def test_an_export_without_parameters_needs_to_be_told_p(export):
    path = export({"command": "a", "times": [8.0]})
    assert refusal(path) == (
        "file  must have the processor count, got no parameter. Set it: constants={'p': COUNT}"
    )
    assert read([path], constants={"p": "64"}).measurements == Measurements(p=64, time=8)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "results  must be a list of objects, as hyperfine --export-json writes it."),
        ('{"results": []}', "file  must contain measurements, got none."),
        ('{"results": [{"command": "a"}]}', "results[0].times  must be the times of the runs"),
        ('{"results": [{"times": [1', "line 1  must be complete JSON, got an early end."),
        (
            '{"results": [{"times": [1, -2], "parameters": {"p": 2}}]}',
            "results[0].times  must be a time above 0, got -2. Leave out runs that failed.",
        ),
        (
            '{"results": [{"times": [1], "parameters": {"p": "1.5"}}]}',
            "results[0].times, p  must be a whole number of at least 1, got 1.5.",
        ),
        (
            '{"results": [{"times": [1], "parameters": {"p": 1}}, '
            '{"times": [1], "parameters": {"n": 1}}]}',
            "results[1].times  must have the same parameters as the runs before, p, got n.",
        ),
    ],
)
def test_an_export_that_cannot_be_used_is_refused_with_its_place(export, text, says):
    assert says in refusal(export(text=text))


# counts in commands


def command(text, *times, **more):
    return {"command": text, "times": list(times)} | more


@pytest.mark.parametrize(
    "form",
    ["mpirun -n {} ./solve", "OMP_NUM_THREADS={} ./solve", "make -j{}", "srun --ntasks={} ./solve",
     "cd x && mpiexec -np {} ./solve -n 7"],
)  # fmt: skip
def test_commands_that_differ_in_their_count_tell_p(export, form):
    told = read([export(*(command(form.format(p), 8 / p) for p in (1, 2, 4)))])
    assert told.measurements == Measurements(p=[1, 2, 4], time=[8, 4, 2])
    assert told.notes == (f"p is taken from the commands: 4 from {form.format(4)}.",)


def test_ranks_and_threads_are_multiplied_and_other_numbers_are_axes(export):
    form = "OMP_NUM_THREADS=2 mpirun -n {} ./solve --size {}"
    told = read([export(*(command(form.format(p, n), n / p) for p in (1, 2) for n in (8, 9)))])
    assert told.measurements == Measurements(
        p=[2, 2, 4, 4], size=[8, 9, 8, 9], time=[8, 9, 4, 4.5]
    )


def test_a_count_that_commands_contradict_is_not_set_for_all(export):
    path = export(*(command(f"mpirun -n {p} ./solve", 8 / p) for p in (1, 2)))
    with pytest.raises(ParameterError, match="constants must be axes that the files do not have"):
        read([path], constants={"p": 64})


def test_runs_that_a_signal_ended_failed(export):
    path = export(command("mpirun -n 2 ./a", 8, 1, 2, exit_codes=[0, None, 1]))
    told = read([path])
    assert told.measurements == Measurements(p=2, time=8)
    assert "2 failed runs were left out: exit status not 0." in told.notes


def test_there_is_one_metric():
    assert "must have the metric 'mean', got only times." in refusal(SAMPLE, metric="mean")
    assert read([SAMPLE], metric="times") == read([SAMPLE])
