"""Numbers that no computer holds, in every format: refused with their place, and at once.

Each of these once ended as a fault of parcast itself, took minutes or took all memory.
"""

import csv
import json
import os
import sys
import tracemalloc
from pathlib import Path

import pytest

from parcast.characterisation.characterise import characterise
from parcast.cli import cli
from parcast.cli.failures import BAD_FILE, WRONG_USE
from parcast.cli.failures import run as run_command
from parcast.errors import FileProblems
from parcast.timings import read_profiles as profiles
from parcast.timings.profile import RankRecord, RegionTotal, RunProfile
from parcast.timings.tables.files import read_measurements
from tests.conftest import ROOT, TIMES
from tests.growth import grows

LONG, MANY, HUGE = (
    "9" * 400,
    "9" * 5000,
    "1" + "0" * 399,
)  # 5,000 digits are more than Python reads
SAMPLES = ROOT / "tests" / "importers" / "data"
PROGRAM = ROOT / "examples" / "btio" / "program.toml"
MACHINE = (ROOT / "examples" / "btio" / "sp2.toml").read_text()
CALIPER = json.loads((SAMPLES / "caliper_p2.json").read_text())
UNITS = [{"attribute.unit": ["sec"]}, {}, {}]
IOR = (SAMPLES / "ior_older.txt").read_text()
DARSHAN = (SAMPLES / "darshan_parser.txt").read_text()
RECORD = json.loads((ROOT / "examples/stencil/runs.jsonl").read_text().splitlines()[0])


def profile(**keys):
    """A line of a profile, in which some numbers are texts of digits."""
    text = json.dumps(RECORD | {name: f"@{value}@" for name, value in keys.items()})
    return text.replace('"@', "").replace('@"', "") + "\n"


def with_storage(key, value):
    """The machine with a number of some key."""
    lines = [line for line in MACHINE.splitlines() if not line.startswith(key)]
    if key == "processors":
        return "\n".join([f"{key} = {value}", *lines])
    at = lines.index("[storage]") + 1
    return "\n".join([*lines[:at], f"{key} = {value}", *lines[at:]])


@pytest.mark.parametrize("digits", [LONG, MANY, "0x" + "f" * 5000])
@pytest.mark.parametrize("key", ["processors", "servers"])
def test_a_long_number_in_a_description_is_refused_with_its_line(parcast, tmp_path, key, digits):
    path = tmp_path / "machine.toml"
    path.write_text(with_storage(key, digits))
    line = next(i for i, x in enumerate(path.read_text().splitlines(), 1) if digits in x)
    said = parcast("predict", PROGRAM, path, "-p", 4)
    assert said.status == BAD_FILE
    assert f"line {line}  must have numbers of at most 308 digits" in said.err


def test_more_servers_than_there_can_be_are_refused_with_their_key(parcast, tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text(with_storage("servers", 10**300))
    said = parcast("predict", PROGRAM, path, "-p", 4)
    assert said.status == BAD_FILE
    assert "storage.servers  must be at most 1000000000, got 1000" in said.err


@pytest.mark.parametrize(
    ("format", "text", "says"),
    [
        ("caliper", json.dumps(CALIPER | {"column_metadata": UNITS}),
         "column_metadata[0].attribute.unit  must be text, got ['sec']."),
        ("caliper", json.dumps(CALIPER | {"data": [[0, "@", 1]]}).replace('"@"', LONG),
         "data[0]  must be a time of at least 0, got inf."),
        ("caliper", json.dumps(CALIPER | {"data": [["@", 1, 1]]}).replace('"@"', MANY),
         "data[0]  must be a rank, got inf."),
        ("ior", IOR.replace("total(s)", "access"), "[storage]"),
        ("ior", IOR.replace("bw(MiB/s)", "rate"), "bw  must be a column, got none."),
        ("ior", IOR.replace("clients            = 8", f"clients = {MANY}"), "[storage]"),
        ("darshan", DARSHAN.replace("nprocs: 4", f"nprocs: {MANY}"),
         "line 10  nprocs must be a finite number, got '9999"),
        ("darshan", DARSHAN.replace("POSIX module: 300", f"POSIX module: {MANY}"), "p,"),
        ("slurm", f"JobID|State|Elapsed|NTasks\n1|COMPLETED|00:01:00|{MANY}\n",
         "line 2  must count tasks and processors in whole numbers, got '9999"),
        ("hyperfine", '{"results": [{"command": "a", "times": [@], "parameters": {"p": 1}}]}',
         "results[0].times  must be a time above 0, got inf."),
        ("google-benchmark", f'{{"benchmarks": [{{"name": "a/{MANY}", "real_time": 1}}]}}',
         "arg1 must be a finite number, got inf."),
        ("extrap", f"PARAMETER p\nPOINTS 1 2\nDATA 1\nDATA {MANY}\n",
         "line 4  must be a time above 0, got inf."),
        ("extrap", '{"params": {"p": @}, "value": 1}', "p must be a finite number, got inf."),
    ],
    ids=range(13),
)  # fmt: skip
def test_a_number_that_cannot_be_is_refused_with_its_place(parcast, tmp_path, format, text, says):
    path = tmp_path / "run.txt"
    path.write_text(text.replace("@", MANY))
    said = parcast("import", format, path)
    assert said.status == (BAD_FILE if "must" in says else 0)
    assert says in (said.err if "must" in says else said.out)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"p": HUGE}, "p         must be a whole number from 1 to 1e+15, got inf."),
        ({"p": MANY}, "p         must be a whole number from 1 to 1e+15, got inf."),
        ({"span_s": HUGE}, "span_s  must be a number from 0 to 1e+30, got inf."),
        ({"begun": "1e300"}, "begun  must be a number from 0 to 1e+30, got 1e+300."),
    ],
    ids=str,
)
def test_a_number_in_a_profile_is_refused_with_its_key(parcast, tmp_path, keys, says):
    path = tmp_path / "run.jsonl"
    path.write_text(profile(**keys))
    said = parcast("characterise", path)
    assert said.status == BAD_FILE
    assert " ".join(says.split()) in " ".join(said.err.split())


def test_a_profile_takes_no_memory_for_ranks_that_it_only_claims(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text(profile(p=10**9, rank=0))
    tracemalloc.start()
    with pytest.raises(
        FileProblems, match=r"ranks 1, 2, 3, 4, 5, \.\.\. of 1000000000 are missing"
    ):
        profiles.read_profiles(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5e6


def test_regions_on_ranks_that_never_enter_them_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(profiles, "MOST_TOTALS", 3)
    path = tmp_path / "run.jsonl"
    region = RECORD["regions"][0]
    lines = [
        json.dumps(RECORD | {"p": 2, "rank": i, "regions": [region | {"name": str(i)}]})
        for i in range(2)
    ]
    path.write_text("\n".join(lines))
    with pytest.raises(FileProblems, match="at most 3 totals, of each region on each rank, got 2"):
        profiles.read_profiles(path)


def record(rank, p):
    """One rank of a run, in which two regions were timed."""
    regions = tuple(
        RegionTotal(
            name=name, kind=kind, entries=4, wall=0.5, processor=0.5, squares=0.1,
            iterations=100.0, calls=4.0, volume=1e3,
        )
        for name, kind in (("sweep", "compute"), ("change", "reduce"))
    )  # fmt: skip
    return RankRecord(
        program="plate", rank=rank, p=p, begun=1e9 + rank * 1e-6, span=1.0, entry=1e-6,
        other_threads=0, parameters={"n": 64.0}, regions=regions,
    )  # fmt: skip


def test_ranks_are_joined_to_runs_in_a_time_that_grows_with_their_number():
    records = {p: [record(i, p) for i in range(p)] for p in (1000, 4000, 16000)}
    slow, _ = grows(lambda p: list(profiles._together(records[p])), list(records))
    assert slow == ""


def test_a_run_is_characterised_in_a_time_that_grows_with_its_ranks():
    runs = {p: RunProfile(ranks=tuple(record(i, p) for i in range(p))) for p in (500, 2000, 8000)}
    slow, _ = grows(lambda p: characterise([runs[p]]), list(runs))
    assert slow == ""


def test_a_cell_is_refused_in_a_time_that_grows_with_its_digits(tmp_path):
    paths = {}
    for size in (8_000, 32_000, 120_000):
        paths[size] = tmp_path / f"{size}.csv"
        paths[size].write_text(f"p,time_s\n1,{'9' * size}\n")

    def read(size):
        with pytest.raises(FileProblems):
            read_measurements(paths[size])

    assert csv.field_size_limit() > 120_000
    assert grows(read, list(paths))[0] == ""


@pytest.mark.parametrize("ending", ["json", "csv"])
def test_a_file_name_that_is_not_utf8_is_escaped_in_documents(parcast, tmp_path, ending):
    strange = Path(os.fsdecode(os.fsencode(tmp_path) + b"/runs\xff.csv"))
    strange.write_text(TIMES)
    said = parcast("forecast", strange, "-p", 16, "--json", "-o", tmp_path / f"out.{ending}")
    assert said.status == 0
    assert "runs\\udcff.csv" in said.out
    document = json.loads(said.out.encode())
    assert document["inputs"]["file"] == str(strange), "os.fsencode finds the file again"
    (tmp_path / f"out.{ending}").read_text(encoding="utf-8")
    named = os.fsdecode(os.fsencode(tmp_path) + b"/out\xfe." + ending.encode())
    assert parcast("forecast", strange, "-p", 16, "-o", named).status == 0
    assert Path(named).exists()


def test_an_answer_for_a_closed_standard_output_is_a_wrong_use(times, monkeypatch, capfd):
    monkeypatch.setattr(sys, "stdout", None)
    status = run_command(cli, ["forecast", str(times), "-p", "16", "--json"])
    monkeypatch.undo()
    assert status == WRONG_USE
    assert "standard output: cannot be written: it is closed" in capfd.readouterr().err
