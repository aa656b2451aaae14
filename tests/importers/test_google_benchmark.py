"""`parcast.importers.google_benchmark`: names into axes, aggregates, and what is refused."""

import json
from functools import partial
from pathlib import Path

import pytest

from parcast.errors import FileProblems
from parcast.importers.registry import import_timings
from parcast.timings.measurements import Measurements
from tests.importers import refused

read = partial(import_timings, format="google-benchmark")
refusal = partial(refused.refusal, read=read)

SAMPLE = Path(__file__).parent / "data" / "google_benchmark.json"


@pytest.fixture
def written(file):
    def write(*benchmarks, text=None):
        return file(json.dumps({"benchmarks": benchmarks}) if text is None else text, "bench.json")

    return write


def run(name, time, **more):
    return {"name": name, "real_time": time, "cpu_time": time / 2, "time_unit": "s"} | more


def test_named_arguments_are_axes_and_aggregates_and_errors_are_left_out():
    told = read([SAMPLE])
    assert told.measurements == Measurements(
        p=[1, 1, 2], n=100, time=[8e-3, 8.5e-3, 4.5e-3], repetition=[1, 2, 1]
    )
    assert told.notes == ("1 failed run was left out: no.",)
    assert read([SAMPLE], metric="cpu_time").measurements.time[0] == 7.5e-3


@pytest.mark.parametrize(("kinds", "time"), [(("mean", "median", "cv"), 5), (("mean", "cv"), 4)])
def test_of_aggregates_alone_one_is_taken_and_told(written, kinds, time):
    times = {"mean": 4, "median": 5, "cv": 0.1}
    for of_newer in (True, False):
        more = [
            {"run_type": "aggregate", "aggregate_name": kind, "run_name": "BM/p:2"}
            if of_newer
            else {}
            for kind in kinds
        ]
        path = written(
            *(run(f"BM/p:2_{x}", times[x], **y) for x, y in zip(kinds, more, strict=True))
        )
        told = read([path])
        assert told.measurements == Measurements(p=2, time=time)
        assert told.notes[0].startswith("1 benchmark has only aggregates: the me")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", "benchmarks  must be a list of benchmarks, as --benchmark_format=json writes"),
        ('{"benchmarks": [{}]}', "benchmarks[0]  must be an object with a name."),
        ('{"benchmarks": [{"na', "line 1  must be complete JSON, got an early end."),
        ('{"benchmarks": [{"name": "a/p:2"}]}', " must be the time of an iteration, got none"),
        (
            '{"benchmarks": [{"name": "a/p:2", "real_time": 1, "time_unit": "fortnight"}]}',
            "benchmarks[0].real_time  must have a time_unit of s, ms, us,",
        ),
        ('{"benchmarks": [{"name": "a/p:2", "real_time": -1}]}', "be a time above 0, got -1e-09"),
        (
            '{"benchmarks": [{"name": "a/p:2", "real_time": 1}, {"name": "b/2", "real_time": 1}]}',
            "benchmarks[1].real_time  must have the same parameters as the runs before, p, got ar",
        ),
        (
            '{"benchmarks": [{"name": "a/p:2", "real_time": 1, "error_occurred": true}]}',
            "file  must contain measurements, got none.",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_place(written, text, says):
    assert says in refusal(written(text=text))


def test_a_benchmark_with_aggregates_only_stands_beside_one_with_single_runs(written):
    median = {"run_type": "aggregate", "aggregate_name": "median"}
    path = written(
        run("BM_Old/p:1", 80),
        run("BM_New/p:1_median", 60, run_name="BM_New/p:1", **median),
        run("BM_Both/p:1", 50),
        run("BM_Both/p:1_median", 51, run_name="BM_Both/p:1", **median),
    )
    told = read([path])
    assert told.measurements == Measurements(
        p=[1, 1, 1], time=[80, 60, 50], callpath=["BM_Old", "BM_New", "BM_Both"]
    )
    assert told.notes == (
        "1 benchmark has only aggregates: the median of the repetitions is used.",
    )


def threaded(p, time, name="BM", how="", **more):
    return run(f"{name}{how}/threads:{p}", time, threads=p, **more)


def test_how_a_benchmark_was_timed_tells_it_apart(written):
    hows = ("", "/real_time", "/process_time", "/manual_time")
    rows = [threaded(p, 8 / p, how=how) for how in hows for p in (1, 2)]
    told = read([written(*rows)])
    assert told.measurements.labels["callpath"].tolist() == [f"BM{x}" for x in hows for _ in "12"]
    assert told.notes[0].startswith("The library_version is not given: until 1.8, real_time of th")


def versions(folder, **of_files):
    """Write files of several versions of the library."""
    paths = []
    for version, rows in of_files.items():
        context = {"library_version": version.replace("_", ".")} if version != "none" else {}
        paths.append(folder / f"{version}.json")
        paths[-1].write_text(json.dumps({"context": context, "benchmarks": rows}))
    return paths


def test_until_1_8_real_times_of_threads_were_divided_by_their_number(tmp_path):
    old, new = versions(
        tmp_path,
        v1_8_3=[threaded(p, 8 / p) for p in (1, 2, 4)],
        v1_9_5=[threaded(p, 8) for p in (1, 2, 4)],
    )
    told = read([old])
    assert told.measurements == read([new]).measurements == Measurements(p=[1, 2, 4], time=8)
    assert told.notes[0].startswith("real_time of threads is multiplied by their number, by which")
    together = read([old, new]).measurements
    assert together.time.tolist() == [8] * 6
    assert read([old], metric="cpu_time").measurements.time.tolist() == [4, 2, 1]


def test_files_that_do_not_tell_the_version_are_not_put_beside_those_that_do(tmp_path):
    paths = versions(tmp_path, none=[threaded(2, 8)], v1_9_0=[threaded(4, 8)])
    with pytest.raises(FileProblems, match="must give its library_version to be compared with"):
        read(paths)
    alone = versions(tmp_path, none=[threaded(1, 8)], v1_9_0=[threaded(4, 8)])
    assert read(alone).measurements == Measurements(p=[1, 4], time=8)


def test_a_metric_must_be_one_of_the_two():
    assert "must have the metric 'bytes', got real_time, cpu_time." in (
        refusal(SAMPLE, metric="bytes")
    )
