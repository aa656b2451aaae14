"""`parcast.importers.darshan`: logs, and what darshan-parser and pydarshan write of them.

Samples are written by hand in the form that the tools print. pydarshan is not among the test
dependencies: tests of the library route read through a small fake of it in this process, which
answers as pydarshan 3.5.0 does where `darshan_child` asks it. Those of the last section run where
pydarshan is installed, on the logs that it brings.
"""

import json
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from parcast.cli import cli
from parcast.cli.failures import run as run_command
from parcast.errors import FileProblems
from parcast.importers import darshan_child
from parcast.importers.content import MissingLibrary, raised
from parcast.importers.darshan import recognises
from parcast.importers.darshan_io import read_job_io
from parcast.importers.reader_process import ReaderProcess
from parcast.importers.registry import import_timings
from tests.importers import refused

read = partial(import_timings, format="darshan")
refusal = partial(refused.refusal, read=read)

DATA = Path(__file__).parent / "data"
TEXT, OLD = DATA / "darshan_parser.txt", DATA / "darshan_old_perf.txt"
REPORT, STATS = DATA / "darshan_report.json", DATA / "darshan_job_stats.csv"
HEAD = b"3.41\0\0\0\x0075d\0\0\0\0\0"
NAMES = ["F_READ_TIME", "F_WRITE_TIME", "F_META_TIME", "F_SLOWEST_RANK_TIME"]


def rows(*paths, **options):
    """Times by processes and call path."""
    measured = read(list(paths), **options).measurements
    keys = zip(measured.p.tolist(), measured.labels["callpath"].tolist(), strict=True)
    return dict(zip(keys, measured.time.tolist(), strict=True))


def notes(*paths, **options):
    return "\n".join(read(list(paths), **options).notes)


class FakeReport:
    """`DarshanReport` of pydarshan, of a log of four processes with every known trap."""

    asked = None  # the modules whose records were asked for
    run_time, start, end = 12.0, 1500000000, 1500000011
    partial = ()
    records: ClassVar = {
        "POSIX": [(-1, [0.5, 3.0, 0.25, 1.25]), (0, [0.125, 0.25, 0.125, 0.0])],
        "STDIO": [(0, [0.0, -2662.75, 0.0, 0.0]), (1, [0.0, 0.003, 0.0, 0.0])],
    }
    others = ("APMPI", "DXT_POSIX", "DXT_MPIIO", "LUSTRE")

    def __init__(self, path, read_all=True):
        assert isinstance(path, str)
        assert not read_all, "reading all would load the DXT traces"
        type(self).asked = []
        self.metadata = {
            "job": {
                "nprocs": 4,
                "run_time": self.run_time,
                "start_time_sec": self.start,
                "end_time_sec": self.end,
            },
            "exe": "./solver -n 1000",
        }
        self.modules = {
            x: {"len": 1, "partial_flag": x in self.partial} for x in (*self.records, *self.others)
        }
        self.counters = {}

    def mod_records(self, module, dtype="numpy"):
        assert dtype == "numpy"
        if module == "APMPI":
            raise KeyError("'counters'")  # as its to_df() does
        self.asked.append(module)
        prefix = module.replace("-", "")
        self.counters[module] = {"fcounters": [f"{prefix}_{x}" for x in NAMES]}
        for rank, values in self.records[module]:
            yield {"rank": rank, "fcounters": np.array(values)}


def standing_for(report, monkeypatch):
    """Let a class stand for DarshanReport; what is said of a log goes through JSON as well."""

    def answers(_, request, **limits):
        assert limits.keys() == {"seconds", "memory"}
        library = SimpleNamespace(DarshanReport=report)
        try:
            for answer in darshan_child.answers(library, request):
                yield json.loads(json.dumps(answer))
            yield ["end"]
        except Exception as error:  # as `serve` does
            yield ["failed", raised(error)]

    monkeypatch.setattr(ReaderProcess, "answers", answers)


@pytest.fixture
def fake(monkeypatch):
    report = type("DarshanReport", (FakeReport,), {})
    standing_for(report, monkeypatch)
    return report


@pytest.fixture
def log(file):
    return file(HEAD + bytes(1000), "solver.darshan")


# what is read


def test_io_time_is_that_of_the_slowest_rank_as_darshan_adds_it_up():
    # POSIX: rank 0 has 0.35 s in one file and 0.15 s in another, rank 3 has 0.4 s in one;
    # the slowest rank in the shared file 1.25 s.
    assert rows(TEXT) == pytest.approx(
        {
            (4, "run"): 12.2503,
            (4, "I/O POSIX"): 0.5 + 1.25,
            (4, "I/O MPI-IO"): 1.5,
            (4, "I/O STDIO"): 0.003,
        }
    )


def test_a_job_in_the_tables_of_two_modules_has_one_run_time(file):
    stdio = file(STATS.read_text().replace(",2.5,", ",0.5,"), "stdio.csv")
    measured = read([STATS, stdio]).measurements
    assert measured.select(callpath="run").p.tolist() == [4, 8]
    assert sorted(measured.select(callpath="I/O", p=4).time) == [0.5, 2.5]


def test_a_log_is_recognised_by_its_magic_number_in_either_byte_order():
    assert recognises(HEAD, Path("x"))
    assert recognises(HEAD[:8] + HEAD[:7:-1], Path("x"))
    assert not recognises(b"# nprocs: 4\n", Path("x.darshan"))
    assert not recognises(b"p,time_s\n1,8\n", Path("x"))


# known traps


def test_run_times_in_whole_seconds_are_told_with_their_share():
    assert (
        "1 of 2 run times is in whole seconds, end minus start plus 1: the true run time may be "
        "up to 2 s less, 8% of the shortest (25 s)." in notes(OLD, TEXT)
    )
    assert "whole seconds" not in notes(TEXT, REPORT)
    assert "1 of 2 run times is in whole seconds" in notes(STATS)


def test_io_that_is_longer_than_the_run_is_told(file):
    path = file(TEXT.read_text().replace("\t1.250000\t", "\t125.000000\t"), "log.txt")
    assert "I/O POSIX is longer than the run in log.txt: 125.5 s of 12.25 s." in notes(path)


def test_shared_files_that_do_not_tell_their_slowest_rank_are_told(file):
    path = file(TEXT.read_text().replace("\t1.250000\t", "\t0.000000\t"), "log.txt")
    assert rows(path)[4, "I/O POSIX"] == pytest.approx(0.5)
    assert "are left out of I/O POSIX (log.txt)." in notes(path)


# the library route


def test_a_log_is_read_with_every_trap_in_it(fake, log):
    fake.partial = ("POSIX",)
    assert rows(log) == {(4, "run"): 12.0, (4, "I/O POSIX"): 1.75, (4, "I/O STDIO"): 0.003}
    said = notes(log)
    for part in (
        "in whole seconds",
        "STDIO_F_WRITE_TIME -2662.75 s of rank 0 (solver.darshan)",
        "counters are incomplete and their I/O times too short: POSIX (solver.darshan).",
        "DXT traces are not read: DXT_POSIX, DXT_MPIIO.",
        "Not read: APMPI, LUSTRE.",
    ):
        assert part in said


def test_a_log_whose_module_has_no_whole_record_is_refused(fake, log):
    fake.records = {"POSIX": []}
    assert refusal(log) == (
        "file  must have the records of POSIX, got none that is complete. It may have been cut "
        "off: copy it again."
    )
    fake.partial = ("POSIX",)  # ran out of memory before the first record
    assert rows(log) == {(4, "run"): 12.0}


def test_a_log_shorter_than_its_modules_is_refused(fake, log):
    log.write_bytes(HEAD[:5])
    fake.records = {"POSIX": [(0, [1.0, 1.0, 1.0, 0.0])]}
    fake.others = tuple(f"M{i}" for i in range(10))
    assert "must be a complete log, got 5 of at least 11 bytes" in refusal(log)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_counter_of_a_log_that_is_no_number_is_refused(bad, fake, log):
    fake.records = {"POSIX": [(0, [1.0, bad, 1.0, 0.0])]}
    assert "got ValueError: WRITE_TIME" in refusal(log)


def test_what_pydarshan_raises_is_a_refusal_of_the_file(fake, log):
    def fail(*_, **__):
        raise RuntimeError("Failed to open file.")

    fake.__init__ = fail
    assert refusal(log) == (
        "file  must be a Darshan log that pydarshan can read, got RuntimeError: "
        "Failed to open file.. It may have been cut off: copy it again."
    )


def test_logs_of_several_programs_are_told(file):
    path = file(TEXT.read_text().replace("./solver", "/opt/bin/other"), "log.txt")
    assert "The logs are of several programs: other, solver. Import them separately." in notes(
        TEXT, path
    )


def test_a_time_below_0_in_a_perf_section_is_refused(file):
    path = file(
        OLD.read_text().replace("time_by_slowest: 1.5", "time_by_slowest: -1.5", 1), "log.txt"
    )
    assert "line 38  time_by_slowest must be at least 0, got -1.5." in refusal(path)


def instead(folder, monkeypatch, source):
    """Put a module in the place of pydarshan, for processes that read logs as well."""
    (folder / "darshan.py").write_text(source)
    monkeypatch.syspath_prepend(folder)


def test_without_pydarshan_the_extra_and_the_route_that_needs_none_are_told(monkeypatch, log):
    instead(log.parent, monkeypatch, "raise ModuleNotFoundError(name='darshan')")
    with pytest.raises(MissingLibrary) as caught:
        read([log])
    said = str(caught.value)
    assert "needs darshan, which is not installed" in said
    assert 'pip install "parcast[darshan]"' in said
    assert f"darshan-parser {log} > log.txt" in said
    assert isinstance(caught.value, ModuleNotFoundError)


def test_a_pydarshan_that_does_not_load_is_told_with_the_reason(monkeypatch, log, tmp_path):
    instead(tmp_path, monkeypatch, "raise RuntimeError('no libdarshan-util.so')\n")
    with pytest.raises(MissingLibrary, match=r"does not load: no libdarshan-util\.so"):
        read([log])


# where the C library of pydarshan ends the process

DAMAGED = (
    f"NAMES = {NAMES}"
    + """
import array, os
class DarshanReport:
    metadata = {"job": dict(nprocs=4, run_time=2.5, start_time_sec=1, end_time_sec=3), "exe": "a"}
    modules = {"POSIX": {"len": 1, "partial_flag": False}}
    counters = {"POSIX": {"fcounters": [f"POSIX_{x}" for x in NAMES]}}
    def __init__(self, path, read_all):
        print("printed by the library")
        self.is_damaged = b"damaged" in open(path, "rb").read()
    name_records = {}
    def read_name_records(self):
        pass
    def mod_records(self, module, dtype):
        if self.is_damaged:
            os.write(2, b"darshan-logutils.c: Assertion `0' failed.")
            os.abort()
        yield {"rank": 0, "fcounters": array.array("d", [0.5, 0.25, 0.0, 0.0])}
"""
)


def test_a_damaged_log_that_aborts_the_library_is_refused_and_the_process_lives(
    monkeypatch, log, tmp_path, capfd
):
    """An assertion of libdarshan-util ended parcast with SIGABRT for 19 of 4,000 corruptions."""
    instead(tmp_path, monkeypatch, DAMAGED)
    assert rows(log, log) == {(4, "run"): 2.5, (4, "I/O POSIX"): 0.75}
    log.write_bytes(HEAD + b"damaged")
    assert run_command(cli, ["import", "darshan", str(log)]) == 3
    assert capfd.readouterr() == (
        "",
        f"parcast: {log}: 1 problem\n"
        "  file  must be a Darshan log that pydarshan can read, got one at which its process was "
        "ended by a signal: Aborted. It may be damaged: copy it again, or leave it out.\n",
    )
    with pytest.raises(FileProblems, match="was ended by a signal"):
        read_job_io(log)
    assert capfd.readouterr() == ("", "")


def test_a_log_that_no_process_can_read_is_refused(monkeypatch, log):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert refusal(log) == (
        "file  must be a Darshan log that pydarshan can read, got one at which its process did "
        "not start: no such file or directory. It may be damaged: copy it again, or leave it out."
    )


# what is refused


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"p,time_s\n1,8\n", "got 'p,time_s"),
        (b'{"results": []}', "must be a Darshan log, or what darshan-parser"),
        (b"\x1f\x8b\x08\x00", "got a compressed file. Unpack it"),
    ],
)
def test_a_foreign_file_is_refused(content, says, file):
    path = file(content, "log.txt")
    assert says in refusal(path)


def test_a_text_cut_off_anywhere_is_refused_or_has_all_its_records(tmp_path):
    whole = TEXT.read_bytes()
    path = tmp_path / "log.txt"
    last = whole.rindex(b"STDIO\t1")  # beyond it, a record is missing at most in part
    for cut in range(0, last, 7):
        path.write_bytes(whole[:cut])
        with pytest.raises(FileProblems):
            read([path])
    path.write_bytes(whole[: len(whole) - 3])
    assert refusal(path).endswith("darshan-parser FILE.darshan > FILE.txt")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("# nprocs: 4\n", "", 'file  must have "# nprocs:" in its header, got none.'),
        ("# nprocs: 4", "# nprocs: 0", "line 11  p  must be a whole number of at least 1, got 0."),
        ("nprocs: 4", "nprocs: four", "line 10  nprocs must be a finite number, got 'four'."),
        ("12.2503", "nan", "line 11  run time must be a finite number, got 'nan'."),
        ("12.2503", "-3.0", "line 11  time_s  must be a time above 0, got -3"),
        ("\t3.000000", "\tinf", "line 40  POSIX_F_WRITE_TIME must be a finite number, got 'inf'."),
        ("POSIX\t-1\t11\tPOSIX_F_W", "POSIX\tx\t11\tPOSIX_F_W", "must have POSIX_F_WRITE_TIME"),
        ("\nPOSIX\t-1", "\nhello", "line 38  must have 8 fields separated by tabs, got"),
        ("POSIX\t3\t", "POSIX\tx\t", "line 51  rank must be a number, got 'x'."),
        ("\n# mounted", "\nhello\n# mounted", "must be a record of darshan-parser, got 'hello"),
    ],
)
def test_a_fault_in_a_text_is_named_with_its_line(old, new, says, tmp_path):
    path = tmp_path / "log.txt"
    text = TEXT.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    assert says in refusal(path)


def test_the_text_of_two_logs_in_one_file_is_refused(file):
    path = file(TEXT.read_text() * 2, "log.txt")
    assert "must be the text of one log, got a second" in refusal(path)


def test_a_text_without_the_records_its_header_lists_tells_of_incomplete_data(file):
    path = file(TEXT.read_text().split("\n#<module>")[0] + "\n", "log.txt")
    assert "darshan-parser --show-incomplete FILE.darshan > FILE.txt" in refusal(path)


def changed(**parts):
    """The report, with some parts of it replaced; a dot leads into them."""
    report = json.loads(REPORT.read_text())
    for key, value in parts.items():
        *above, last = key.split("__")
        place = report
        for name in above:
            place = place[int(name) if name.isdigit() else name]
        place[last] = value
    return json.dumps(report)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (REPORT.read_text()[:900], "must be complete JSON"),
        (changed(metadata__job__nprocs="8"), "metadata.job.nprocs  must be a number, got \"'8'\""),
        (changed(metadata__job__run_time=-1.0), "must be a time above 0, got -1.0"),
        (changed(modules=[]), "modules  must be an object as pydarshan writes it, got '[]'"),
        (changed(records__POSIX="Not implemented."), "records.POSIX  must be records"),
        (changed(modules__POSIX__num_records=3), "records.POSIX  must be all records, got 2 of 3"),
        (changed(records__POSIX__1__fcounters=[1.0]), "records.POSIX[1]  must have a rank and 4"),
        (
            changed(records__POSIX__1__fcounters=[0.1, float("nan"), 0.1, 0.0]),
            "records.POSIX[1]  must have POSIX_F_WRITE_TIME as a finite number.",
        ),
    ],
    ids=range(8),
)
def test_a_fault_in_a_report_is_named_with_its_key(text, says, file):
    path = file(text, "log.json")
    assert says.replace("\"'8'\"", "'8'").replace("'[]'", "[]") in refusal(path)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (",2,True", "", "line 3  must have 12 values as its header has, got 10."),
        (",2,True", ",2,Tr", "line 3  partial_flag  must be True or False, got 'Tr'."),
        (",40.0,", ",fast,", "line 2  run_time  must be a number of at least 0, got 'fast'."),
        (",2.5,", ",-2.5,", "line 2  time_by_slowest  must be a number of at least 0, got '-2.5'"),
        (",40.0,", ",-1,", "line 2  time_s  must be a time above 0, got -1.0"),
        (",time_by_slowest", ",other", "line 1  must have a column time_by_slowest, got none."),
        ("solver_8", '"solver_8', "line 3  must be a row of job_stats"),
    ],
)
def test_a_fault_in_a_table_is_named_with_its_line(old, new, says, file):
    path = file(STATS.read_text().replace(old, new), "jobs.csv")
    assert says in refusal(path)


# where pydarshan is installed


def samples():
    """The logs that pydarshan brings."""
    darshan = pytest.importorskip("darshan", reason="the extra darshan is not installed")
    return Path(darshan.__file__).parent / "examples" / "example_logs"


def test_pydarshan_tells_the_same_io_times_as_its_own_sums():
    folder = samples()
    assert rows(folder / "sample-badost.darshan") == pytest.approx(
        {(2048, "run"): 780.0, (2048, "I/O POSIX"): 778.4943664, (2048, "I/O STDIO"): 0.200828075}
    )
    said = notes(folder / "example.darshan")
    assert "STDIO_F_WRITE_TIME -2662.75 s of rank 0" in said
    assert "in whole seconds" in said


def test_a_time_that_is_not_there_is_refused_with_those_that_are():
    assert refusal(TEXT, metric="HDF5") == (
        "file  must have the time 'HDF5', got run, I/O POSIX, I/O MPI-IO, I/O STDIO. Choose one "
        "of them."
    )
