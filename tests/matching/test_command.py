"""`parcast match`: what it answers, in every form, what it refuses, and with which status."""

import csv
import io
import json

import pytest

from parcast.descriptions.toml_files import read_machine
from parcast.matching.match import match
from parcast.timings.tables.files import read_measurements
from tests.conftest import ROOT
from tests.written import written

EXAMPLE = ROOT / "examples" / "matching"
TIMES = EXAMPLE / "times.csv"
FILES = [EXAMPLE / f"{name}.toml" for name in ("t3e", "sp", "o2000")]
PROGRAM = ROOT / "examples" / "checkpoint" / "program.toml"
CLUSTERS = [ROOT / "examples" / "checkpoint" / f"{name}.toml" for name in ("nvme", "nfs")]


def test_the_answer_is_that_of_the_function(parcast):
    said = parcast("match", TIMES, *FILES, "--goal", "cost", "--within", "12s", "--json")
    assert said.status == 0
    document = json.loads(said.out)
    told = match(read_measurements(TIMES), [*map(read_machine, FILES)], goal="cost", within=12.0)
    assert document["ranking"] == written(list(told.ranking()))
    assert document["inputs"]["runs"]["measurements"] == 21
    assert len(document["inputs"]["machines"]) == 3
    assert document["inputs"]["options"]["goal"] == "cost"


def test_the_table_fits_a_screen_and_says_what_to_take(parcast, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    said = parcast("match", TIMES, *FILES, "--goal", "cost", "--within", "12s", "--budget", "5")
    assert max(map(len, said.out.splitlines())) <= 80
    assert "choose      T3E at p = 2: 9 s, 3.00 credits" in said.out
    assert "\nbased on  " in said.out
    assert "\nwarning:    No run was repeated: times are assumed to scatter by" in said.out


def test_a_narrow_screen_gets_every_fact_on_lines_of_its_own(parcast, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    said = parcast("match", TIMES, *FILES, "--within", "12s")
    assert "1 T3E, p = 32\n  time        1.18 s  (1.09 to 1.28)\n  cost " in said.out


def test_prices_may_be_given_on_the_command_line(parcast):
    said = parcast("match", TIMES, "--price", "T3E=6,SP=1", "--price", "O2000=1", "-o", "-")
    rows = list(csv.DictReader(io.StringIO(said.out)))
    assert len(rows) == 21
    chosen = [row for row in rows if row["chosen"] == "True" or row["chosen"] == "true"]
    assert [row["machine"] for row in chosen] == ["T3E", "O2000", "SP"]
    assert float(chosen[0]["cost"]) == pytest.approx(6 * 32 * 1.182 / 3600)


def test_a_name_with_commas_may_have_a_price(parcast, tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text('machine,p,time_s\n"A, big",1,3\n"A, big",2,2\nB,1,3\nB,2,2.5\n')
    said = parcast("match", path, "--price", "A, big=0.5 +- 10%,B=2", "--goal", "cost")
    assert said.status == 0
    assert "choose      A, big at p = 1" in said.out
    assert "cost: in the unit of the prices\n" in said.out.replace("\ncost", " cost")


def test_a_program_is_matched_with_machines(parcast):
    price = "cluster with NVMe servers=0.05,cluster with one NFS server=0.03"
    asked = ("-p", "16..8192x2", "--price", price, "--budget", "500 EUR", "--within", "2h")
    said = parcast("match", PROGRAM, *CLUSTERS, *asked)
    assert said.status == 0
    assert said.out.startswith("solver with checkpoints: machines by least time, within 2 h and")
    assert (
        "cluster with NVMe servers has 4096 processors: p = 8192 is not considered on it."
        in said.out
    )
    assert "law error  " in said.out
    assert "measured: 16 runs of NAS BT with I/O" in " ".join(said.out.split())
    assert "not the error of the law" not in said.out
    certain = parcast("match", PROGRAM, *CLUSTERS, *asked, "--no-law-error", "-v")
    assert "not the error of the law" in certain.out
    assert "law error  " not in certain.out


def test_no_machine_that_fits_is_a_no_with_what_would_fit(parcast):
    said = parcast("match", TIMES, *FILES, "--within", "1s", "--budget", "6")
    assert said.status == 1
    assert said.err == "parcast: no: no machine meets the limits.\n"
    assert "none fits   T3E at best (p = 32) takes" in said.out
    assert "To get a machine that fits, allow 1.62 s (T3E, p = 16)." in said.out


@pytest.mark.parametrize("ending", ["csv", "json", "svg", "png"])
def test_it_is_written_in_every_format(parcast, tmp_path, ending):
    path = tmp_path / f"match.{ending}"
    assert parcast("match", TIMES, *FILES, "-o", path).status == 0
    assert path.stat().st_size > 1000


def test_help_has_two_examples_and_every_status(parcast):
    said = parcast("match", "--help")
    assert said.out.partition("Examples:")[2].count("  parcast match ") == 2
    assert all(f" {status}  " in said.out.partition("Exit status:")[2] for status in range(5))
    assert max(map(len, said.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (("--within", "500"), 2, '--within must be a time such as "150 us", got "500", which has'),
        (("--within", "2 GB"), 2, 'got "2 GB", which is a size.'),
        (("--within", "-1 s"), 2, "--within must be above 0, got '-1 s'."),
        (("--budget", "2h"), 2, "--budget must be a number above 0, got '2h'."),
        (("--budget", ""), 2, "--budget must be a number above 0, got ''."),
        (("--certainty", "99"), 2, "--certainty must lie between 50% and 100%, got '99'."),
        (("--certainty", "x"), 2, "--certainty must lie between 50% and 100%, got 'x'."),
        (
            ("--price", "T3E"),
            2,
            "--price must be machines and prices of a processor-hour, got 'T3E'",
        ),
        (("--price", "T3E=1,SP"), 2, "--price must be machines and prices of a processor-hour"),
        (("--price", "T3E=1,T3E=2"), 2, "--price must name a machine once, got 'T3E' twice."),
        (("--price", "T4E=1"), 2, "--price must name machines that are ranked, got 'T4E'."),
        (
            ("--price", "T3E=cheap"),
            2,
            "--price must be numbers above 0 and up to 1e+30, got 'cheap' for T3E.",
        ),
        (("--goal", "cost"), 4, "or give --price T3E=0.05."),
        (("-n", "5"), 2, "-d and -n require PROGRAM, but "),
        (("-p", "0"), 2, "-p must be whole numbers from 1"),
        ((FILES[0], FILES[0]), 4, "machines must have different names, got 'T3E' twice."),
        ((FILES[0], "--budget", "2 EUR"), 2, "--budget must be in credits, as the prices are"),
        ((TIMES,), 2, "match needs one program file or table of timings; "),
        ((FILES[0], "-o", FILES[0]), 2, "-o must be"),
    ],
)
def test_a_question_about_runs_that_makes_no_sense_is_refused(parcast, args, status, says):
    said = parcast("match", TIMES, *args)
    assert said.status == status
    assert says in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (
            (PROGRAM, *CLUSTERS),
            2,
            "-p must be given with PROGRAM: the counts to choose from. Write -p 1..1024x2.",
        ),
        (
            (PROGRAM, "-p", "1"),
            2,
            "MACHINE must be given with PROGRAM. Usage: parcast match [OPTIONS]",
        ),
        ((PROGRAM, *CLUSTERS, "-p", "1", "-d", "1,2"), 2, "-d must be one value here, got 1,2."),
        (
            (PROGRAM, *CLUSTERS, "-p", "1", "--select", "n=1"),
            2,
            "--select requires TIMINGS, but ",
        ),
        (
            (CLUSTERS[0], CLUSTERS[1], "-p", "1"),
            2,
            "nvme.toml and " + f"{CLUSTERS[1]} are both machines.",
        ),
        (("-", "-", "-p", "1"), 2, "Only one file may be -, standard input. Name the others."),
        (
            (PROGRAM, FILES[0], "-p", "4"),
            4,
            "compute.rate must be given in the description of T3E",
        ),
    ],
)
def test_a_question_about_a_program_that_makes_no_sense_is_refused(parcast, args, status, says):
    said = parcast("match", *args)
    assert said.status == status
    assert says in said.err


@pytest.mark.parametrize(
    ("table", "status", "says"),
    [
        (
            "machine,p,n,time_s\nA,1,1,3\nA,2,1,2\nB,1,2,5\nB,2,2,3\n",
            4,
            "such as --select n=VALUE\n",
        ),
        ("machine,p,time_s\nA,1,-3\n", 3, "must be a time above 0, got '-3'."),
        ("machine,p,time_s\nA,1,3\nB,1,3\n", 4, "No machine can be ranked. A: All its times"),
    ],
)
def test_a_table_that_does_not_do_is_refused(parcast, tmp_path, table, status, says):
    path = tmp_path / "runs.csv"
    path.write_text(table)
    said = parcast("match", path)
    assert (said.status, says in said.err) == (status, True), said.err


@pytest.mark.parametrize(
    ("price", "name"), [((), "here"), (("--price", "here=1"), "here"), (("--price", "SP=1"), "SP")]
)
def test_a_table_without_a_machine_is_of_one(parcast, times, price, name):
    said = parcast("match", times, *price, "--json")
    assert said.status == 0, said.err
    [ranked] = json.loads(said.out)["ranking"]
    assert ranked["machine"] == name


def test_a_budget_without_prices_names_the_option(parcast, times):
    said = parcast("match", times, "--budget", "5")
    assert said.status == 4
    assert said.err.startswith("parcast: --price must be given for here, ")
    assert said.err.endswith("or give --price here=0.05.\n")


def test_the_files_may_have_any_order(parcast):
    first = parcast("match", PROGRAM, *CLUSTERS, "-p", "1..64x2", "--json")
    last = parcast("match", *CLUSTERS, PROGRAM, "-p", "1..64x2", "--json")
    assert (first.status, first.out) == (last.status, last.out)


def test_two_tables_are_one_too_many(parcast, times, machines):
    said = parcast("match", times, machines)
    assert said.status == 2
    assert said.err.startswith(
        "parcast: match needs one program file or table of timings; "
        f"{times} and {machines} are both tables of timings.\n"
    )


def test_several_values_are_selected(parcast, machines):
    both = parcast("match", machines, "--select", "machine=SP,T3E", "--json")
    every = parcast("match", machines, "--json")
    assert json.loads(both.out)["ranking"] == json.loads(every.out)["ranking"]


def test_help_loads_nothing_heavy(process):
    assert process("match", "--help").status == 0
