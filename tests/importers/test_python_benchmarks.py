"""Benchmarks of Python code: `parcast.importers.pyperf` and `pytest_benchmark`."""

import json
from pathlib import Path

import pytest

from parcast.errors import FileProblems
from parcast.importers.registry import import_timings, recognised
from parcast.timings.measurements import Measurements

DATA = Path(__file__).parent / "data"


@pytest.fixture
def written(file):
    def write(document):
        return file(document if isinstance(document, str) else json.dumps(document), "bench.json")

    return write


def refusal(path, name, **options):
    with pytest.raises(FileProblems) as caught:
        import_timings([path], name, **options)
    return "\n".join(line.strip() for line in str(caught.value).splitlines()[1:])


# pyperf


def suite(*benchmarks, **metadata):
    return {
        "benchmarks": [
            {"metadata": own, "runs": [{"values": values[:1]}, {"values": values[1:]}]}
            for own, values in benchmarks
        ],
        "metadata": metadata,
        "version": "1.0",
    }


def test_a_suite_of_pyperf_is_read_without_its_warmups():
    told = import_timings(DATA / "pyperf.json")
    assert told.measurements.p.tolist() == [1] * 6 + [2] * 6 + [4] * 6
    assert sorted(told.measurements.columns) == ["p", "repetition", "time"]
    assert told.measurements.time[0] == 0.020172940500003733
    assert told.notes == ("nprocs is used as p, the processor count.",)
    assert recognised(DATA / "pyperf.json").name == "pyperf"


def test_names_tell_p_and_functions_and_metadata_are_axes(written):
    path = written(
        suite(
            ({"name": "solve[np=1]", "n": 100}, [8.0]), ({"name": "solve[np=2]", "n": 100}, [4.0]),
            ({"name": "other[np=2]", "n": 100}, [1.0]), cpu_count=8, loops=2,
        )
    )  # fmt: skip
    told = import_timings(path)
    assert told.measurements == Measurements(
        p=[1, 2, 2], n=100, time=[8, 4, 1], callpath=["solve", "solve", "other"]
    )
    assert told.notes == ("p is taken from the names: 1 from solve[np=1].",)


def test_a_suite_that_cannot_be_used_is_refused(written):
    assert "must be a list of benchmarks" in refusal(written("{}"), "pyperf")
    path = written(suite(({"name": "a", "unit": "byte", "nprocs": 1}, [8.0])))
    assert "must have times, got values in 'byte'." in refusal(path, "pyperf")
    path = written(suite(({"name": "a"}, [8.0])))
    assert "must have the processor count, got no parameter." in refusal(path, "pyperf")
    assert "got only values. Leave it out." in refusal(path, "pyperf", metric="mean")
    assert "[0].runs  must be a list" in refusal(written({"benchmarks": [{}]}), "pyperf")
    assert "must be an object" in refusal(written({"benchmarks": [4], "metadata": {}}), "pyperf")


# pytest-benchmark


def benchmark(name, params=None, times=(8.0,), extra=None, **more):
    stats = {"median": 7.5, "mean": 7.75} | ({"data": list(times)} if times else {})
    return {
        "name": name, "fullname": f"test_b.py::{name}", "params": params,
        "extra_info": extra or {}, "stats": stats,
    } | more  # fmt: skip


def test_rounds_are_repetitions_and_functions_callpaths():
    told = import_timings(DATA / "pytest_benchmark.json").measurements
    assert told.p.tolist() == [1, 1, 1, 2, 2, 2, 4, 4, 4, 3, 3, 3]
    assert told.labels["callpath"].tolist() == (
        ["test_b.py::test_solve"] * 9 + ["test_b.py::test_other"] * 3
    )
    assert recognised(DATA / "pytest_benchmark.json").name == "pytest-benchmark"


def test_parameters_are_axes_and_those_that_are_text_callpaths(written):
    rows = [
        benchmark("test_a[1-gcc]", {"nprocs": 1, "compiler": "gcc"}),
        benchmark("test_a[1-clang]", {"nprocs": 1, "compiler": "clang"}, times=(9.0,)),
    ]
    told = import_timings(written({"benchmarks": rows, "machine_info": {}, "commit_info": {}}))
    assert told.measurements == Measurements(
        p=1, time=[8, 9], callpath=[f"test_b.py::test_a compiler={x}" for x in ("gcc", "clang")]
    )


def test_without_rounds_the_median_is_used_and_it_is_said(written):
    path = written({"benchmarks": [benchmark("test_a", {"np": 4}, times=())]})
    told = import_timings(path)
    assert told.measurements == Measurements(p=4, time=7.5)
    assert told.notes[0] == (
        "1 benchmark has no times of rounds, whose median is used. Save them: "
        "pytest --benchmark-save-data"
    )


def test_benchmarks_that_tell_no_count_beside_others_are_left_out_and_named(written):
    rows = [benchmark("test_a[1]", {"np": 1}), benchmark("test_setup")]
    told = import_timings(written({"benchmarks": rows, "machine_info": {}, "commit_info": {}}))
    assert told.measurements == Measurements(p=1, time=8)
    assert told.notes[0] == (
        "1 benchmark is left out, as they contain no count: test_b.py::test_setup."
    )


def test_a_file_that_cannot_be_used_is_refused(written):
    assert "must be a list of benchmarks" in refusal(written("[]"), "pytest-benchmark")
    path = written({"benchmarks": [{"stats": {}}]})
    assert "must have data or the median, got neither." in refusal(path, "pytest-benchmark")
    path = written({"benchmarks": [benchmark("test_a", {"size": 4})]})
    says = refusal(path, "pytest-benchmark")
    assert "got only size. Set it: constants={'p': COUNT}, or rename a parameter" in says
