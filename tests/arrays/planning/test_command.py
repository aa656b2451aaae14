"""`parcast plan io`: what it prints, draws and writes, and what it refuses."""

import csv
import json
import re

import pytest

import parcast as package
from parcast.deciding.plans import PLAN
from tests.conftest import ROOT
from tests.forecasting.test_command import document
from tests.written import written

SMALL = ["--shape", "32x16x16", "--clients", "3x4x2", "--arrays", "2048"]
COSTS = ["--costs", str(ROOT / "examples" / "arrays" / "sp2_like.toml")]


@pytest.fixture
def plan(parcast, monkeypatch):
    """Call `parcast plan io` on 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *args: parcast("plan", "io", *map(str, args))


def test_it_is_a_part_of_plan(parcast):
    assert "io" in PLAN
    said = parcast("plan")
    assert "  io        I/O servers and distribution of arrays." in said.out


@pytest.mark.parametrize("columns", [80, 200])
def test_the_answer_comes_first_and_fits_the_width(plan, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    said = plan(*SMALL, "--objective", "fewest", "--within", "40%")
    assert said.status == 0
    lines = said.out.splitlines()
    assert max(map(len, lines)) <= columns
    assert lines[0].startswith("Write of 2,048 arrays of 32x16x16 (134 MB) by 24 clients: 6 ser")
    busiest = "limited by  the file system: its busiest disk is used 90% of the time or more"
    assert busiest in lines
    assert re.search(r"disks used\n.*mean \[%\]\n", said.out)
    assert any(line.startswith("warning:    No costs of a machine were given") for line in lines)


def test_the_document_is_that_of_python(plan):
    told = document(plan(*SMALL, *COSTS, "--objective", "utilisation", "--batch", "--json"))
    result = package.plan_io(
        "32x16x16", "3x4x2", arrays=2048, costs=COSTS[1], objective="utilisation", batch=True
    )
    expected = written(result.to_document())
    assert {**told, "inputs": {}} == {**expected, "inputs": {}}
    assert told["inputs"]["costs"]["file"] == COSTS[1]
    assert len(told["inputs"]["costs"]["sha256"]) == 64


def test_files_are_written_in_every_format(plan, tmp_path):
    paths = [tmp_path / f"plan.{x}" for x in ("csv", "json", "svg")]
    said = plan(*SMALL, *(word for path in paths for word in ("-o", path)))
    assert said.status == 0
    rows = list(csv.DictReader(paths[0].read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 38
    assert rows[0]["mesh"] == "1x4x2"
    assert json.loads(paths[1].read_text(encoding="utf-8"))["best"]["servers"] == 8
    assert "Write of 2,048 arrays" in paths[2].read_text(encoding="utf-8")


def test_settings_are_printed_alone(plan, tmp_path):
    path = tmp_path / "plan.json"
    said = plan(*SMALL, *COSTS, "--settings", "romio", "-o", path)
    assert said.status == 0
    assert said.err == f"parcast: wrote {path}.\n"
    assert said.out.splitlines()[-4:] == [
        "cb_nodes 8",
        "cb_buffer_size 1048576",
        "striping_factor 8",
        "striping_unit 1048576",
    ]
    settings = json.loads(path.read_text(encoding="utf-8"))["settings"]
    assert settings["pio"] == {"num_iotasks": 8, "stride": 3, "base": 0}
    assert "No costs of a machine" in plan(*SMALL, "--settings", "pio").err


@pytest.mark.parametrize(
    "more",
    [
        (*COSTS, "--compare", "cb_nodes=4"),
        ("--servers", "1..16", "--objective", "utilisation"),
        ("--objective", "fewest", "--within", "40%", "--operation", "read"),
    ],
)
def test_the_answer_is_one_screen(plan, more):
    said = plan(*SMALL, *more)
    assert len((said.out + said.err).splitlines()) <= 24
    assert ("warning" in said.out) == (COSTS[0] not in more)


def test_all_plans_are_shown_if_asked_for(plan):
    short = plan(*SMALL)
    assert "5 of 38 plans are shown" in short.err
    assert len((short.out + short.err).splitlines()) <= 24
    assert "Servers of the best plan" not in short.out
    said = plan(*SMALL, "--all")
    assert "plans are shown" not in said.err
    rows = said.out.split("\n\n")[1].splitlines()[2:]
    assert len(rows) == 38
    assert sum(row.split()[2] != "***" for row in rows) == 37
    of_servers = said.out.split("Servers of the best plan\n")[1].splitlines()
    assert of_servers[0].split() == ["servers", "messages", "assembly", "files", "normal", "used"]
    assert of_servers[2].startswith("0, 1, 2, 3, 4, 5 and 2 more ")


def test_storage_chunks_and_reads_are_planned(plan):
    said = plan(
        *["--shape", "64x64", "--clients", "2x2", "--storage", "16x64", "--inner", "8x64"],
        *["--servers", "1,2,4", "--operation", "read", "--writer", "double-buffer"],
        *["--contention", "--policy", "hpf", "--dtype", "float32"],
    )
    assert said.status == 0
    assert said.out.startswith("Read of 1 array of 64x64 (16.4 kB) by 4 clients: 4 servers, ")
    assert "schema" not in said.out.split("\n\n")[1]


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (["--servers", "0"], 2, "--servers must be whole numbers from 1 to "),
        (["--servers", "2,x"], 2, "--servers must be counts of servers, got 'x'."),
        (["--clients", "2"], 2, "--clients must have one number for each of the 2 dimensions"),
        (["--dtype", "longdouble"], 2, "--dtype must be a type of fixed size"),
        (["--costs", "none.toml"], 3, "none.toml: 1 problem\n  file  must exist"),
        (["--within", "5%"], 2, "--within must be left out unless --objective is fewest"),
        (["--objective", "fewest", "--within", "x"], 2, "--within must be a share of at least 0"),
        (["--objective", "speed"], 2, "--objective must be time, utilisation or fewest"),
        (["--storage", "8x8", "--inner", "3x8"], 2, "--inner must divide the storage chunk"),
        (["--subchunk", "4B"], 2, "--subchunk must hold one element: at least 8 bytes"),
        (["--settings", "roomio"], 2, "got 'roomio'. Did you mean romio?"),
        (["--settings", "pio", "--json"], 2, "--settings cannot be combined with --json"),
        (["--settings", "pio", "-o", "-"], 2, "--settings cannot be combined with -o -"),
        (["-o", "plan.txt"], 2, "-o must be a path that ends in"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(plan, args, status, says):
    said = plan("--shape", "64x64", "--clients", "2x2", *args)
    assert (said.status, said.out) == (status, "")
    assert says in said.err
    assert "Traceback" not in said.err


def test_what_is_missing_is_named(plan):
    assert "--shape must be given" in plan("--clients", "2x2").err
    assert "--clients must be given" in plan("--shape", "8x8").err


def test_a_wrong_file_of_costs_names_the_line(plan, file):
    path = file('[servers]\nwrite_rate = "2 GB"\nfinds = "1 ms"\n', "costs.toml")
    said = plan("--shape", "8x8", "--clients", "2x2", "--costs", path)
    assert said.status == 3
    assert "line 2  servers.write_rate" in said.err
    assert "line 3  servers.finds" in said.err
