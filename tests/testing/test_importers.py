"""Every importer of parcast passes the check of importers, and what breaks it is named."""

import sys
from dataclasses import replace

import pytest

from parcast.errors import FileProblems, ParameterError, Problem
from parcast.forecasting.forecast import forecast
from parcast.importers.registry import FORMATS, format_named
from parcast.testing.importers import check_importer
from tests.conftest import ROOT
from tests.installed import PLUGINS

DATA = ROOT / "tests" / "importers" / "data"
EXAMPLES = {  # of each format
    "caliper": ["caliper_p2.json"],
    "darshan": ["darshan_job_stats.csv", "darshan_parser.txt", "darshan_report.json"],
    "extrap": ["extrap.txt", "extrap_newer.json", "extrap_older.json", "extrap.jsonl"],
    "gnu-time": ["time.txt"],
    "google-benchmark": ["google_benchmark.json"],
    "gromacs": ["gromacs_2.log"],
    "hatchet": ["hatchet.json", "thicket.json"],
    "hyperfine": ["hyperfine.json"],
    "imb": ["imb_multi.txt"],
    "ior": ["ior.csv", "ior_older.json", "ior_older.txt"],
    "lammps": ["lammps.np2.log"],
    "osu": ["osu_full.n4.txt", "osu_older.txt"],
    "parcast": ["forecast.json"],
    "parquet": ["t.parquet", "t.feather"],
    "pyperf": ["pyperf.json"],
    "pytest-benchmark": ["pytest_benchmark.json"],
    "reframe": ["reframe_perf.log", "reframe_report.json"],
    "slurm": ["sacct.txt", "sacct_2205.json", "sacct_2405.json"],
}
NAMED_ONLY = {"log", "table"}  # recognise nothing
FAKED = {"cubex", "talp"}  # the tests of these make their files
TIMED = """\tCommand being timed: "mpirun -n 4 ./app"
\tElapsed (wall clock) time (h:mm:ss or m:ss): 1:02.50
\tMaximum resident set size (kbytes): 1024
\tExit status: 0
"""
SHEET = "stopwatch\n1 ranks: 100.2 99.8\n2 ranks: 52.1\n"


def example(name, folder):
    """Give an example; of tables, forecasts and `time -v` one that is written now."""
    path = folder / name
    if name == "time.txt":
        path.write_text(TIMED)
    elif name == "forecast.json":
        forecast({"p": [1, 2, 4], "time": [8.0, 4.5, 3.0]}, [8]).save(path)
    elif name.startswith("t."):
        arrow = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
        from pyarrow import feather, parquet

        write = parquet.write_table if path.suffix == ".parquet" else feather.write_feather
        write(arrow.table({"p": [1, 2, 4], "time_s": [8.0, 4.5, 3.0]}), path)
    else:
        return DATA / name
    return path


@pytest.mark.parametrize(
    ("known", "name"), [(known, name) for known, names in EXAMPLES.items() for name in names]
)
def test_each_importer_of_parcast_passes(tmp_path, known, name):
    check_importer(format_named(known), example(name, tmp_path))


def test_no_format_is_left_out():
    assert FORMATS.keys() == EXAMPLES.keys() | NAMED_ONLY | FAKED


@pytest.fixture
def stopwatch(monkeypatch, tmp_path):
    """The plugin of the how-to, and a sheet of it."""
    monkeypatch.syspath_prepend(PLUGINS)
    monkeypatch.delitem(sys.modules, "parcast_demo.stopwatch", raising=False)
    from parcast_demo.stopwatch import FORMAT

    path = tmp_path / "sheet.txt"
    path.write_text(SHEET)
    return lambda **changes: check_importer(
        replace(FORMAT, **changes), path, rename={"ranks": "p"}
    )


def refusing(message):
    """Read a file that it refuses with a message, but for the example."""

    def read(runs, metric):
        for path, faults in runs.files():
            if path.read_text(errors="replace") == SHEET:
                runs.add({"ranks": 1}, [1.0], faults, metric="time_s")
            else:
                raise message
        return runs.imported(metric=metric)

    return read


def test_a_plugin_passes_too(stopwatch):
    assert stopwatch().measurements.p.tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"recognises": lambda *_: False}, "must recognise its example, got False for sheet.txt"),
        ({"recognises": lambda head, _: head[0] > 0}, "must recognise a file, or not, and never"),
        ({"timings": refusing(KeyError("x"))}, "must refuse an empty file in words, got KeyErr"),
        ({"timings": refusing(ParameterError("Bad. Mend it."))}, "must name the file where it "),
        (
            {"timings": refusing(FileProblems("sheet.txt", [Problem(message="is bad.")]))},
            "must say what to do where it refuses an empty file, got is bad.",
        ),
    ],
)
def test_what_an_importer_does_wrong_is_named(stopwatch, changes, says):
    with pytest.raises(ParameterError, match="the format Sheets of the stopwatch must") as caught:
        stopwatch(**changes)
    assert says in str(caught.value)


def test_an_answer_of_an_empty_file_is_none(stopwatch):
    def read(runs, metric):
        for _, faults in runs.files():
            runs.add({"ranks": 1}, [1.0], faults, metric="time_s")
        return runs.imported(metric=metric)

    with pytest.raises(ParameterError, match="must refuse an empty file, got an answer"):
        stopwatch(timings=read)
