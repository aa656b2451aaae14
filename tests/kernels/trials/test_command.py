"""`parcast validate`: what it answers, in every form, what it refuses, and with which status."""

import csv
import io
import json
import os
import re
import signal

import pytest

from parcast.descriptions.toml_files import read_program
from parcast.kernels.registry import COUNTED
from parcast.timings.tables.files import read_measurements
from tests.kernels.trials.made import FakeRanks, lawful


@pytest.fixture
def machine(monkeypatch):
    """Let the command run on ranks that are none."""

    def use(ranks):
        monkeypatch.setattr("parcast.kernels.trials.subject.KernelLauncher", lambda _: ranks)
        return ranks

    return use


def test_a_law_that_holds_has_the_status_0(parcast, machine):
    machine(FakeRanks(noise=0.01))
    said = parcast("validate", "sort", "--seed", "2")
    assert (said.status, said.err) == (0, "")
    assert "law         agrees: " in said.out


def test_a_law_that_does_not_hold_has_the_status_1(parcast, machine):
    machine(FakeRanks(time=lambda n, p: lawful(n, p) * (n / 1e6) ** 0.4))
    said = parcast("validate", "sort", "-np", "1,2,4", "--repetitions", "2")
    assert said.status == 1
    assert said.err == "parcast: no: The law does not hold for sort.\n"
    said = parcast("validate", "sort", "square_sort", "--quick")
    assert said.err == "parcast: no: The laws do not hold for sort, square_sort.\n"


def test_every_form_has_the_same_facts(parcast, machine, tmp_path):
    machine(FakeRanks(noise=0.01))
    table, document, picture = (tmp_path / f"a.{x}" for x in ("csv", "json", "svg"))
    said = parcast(
        "validate", "sort", "-n", "2e6,4e6", "--calibrate-with", "1e5,2e5,4e5",
        "--longest", "2s", "--time-limit", "5 min", "--json",
        "-o", table, "-o", document, "-o", picture,
    )  # fmt: skip
    assert said.status == 0
    assert [*said.err.splitlines()] == [f"parcast: wrote {x}." for x in (table, document, picture)]
    told = json.loads(said.out)
    assert told == json.loads(document.read_text())
    assert told["schema"] == "parcast/validation/1"
    assert told["inputs"]["options"] == {
        "p": None,
        "sizes": "2e6,4e6",
        "calibrate_with": "1e5,2e5,4e5",
        "repetitions": 4,
        "longest": 2.0,
        "quick": False,
        "time_limit": 300.0,
        "seed": 0,
    }
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    for metric, name in (
        *(("time_s", "time_s"), ("compute", "compute_s"), ("disk", "disk_s")),
        *(("launch", "launch"), ("predicted", "predicted_s"), ("lower", "lower_s")),
        *(("upper", "upper_s"), ("is_inside", "inside")),
    ):
        of_document = [row[name] for row in told["runs"] if row[name] is not None]
        assert [float(row["value"]) for row in rows if row["metric"] == metric] == of_document
    purposes = [row["value"] for row in rows if row["metric"] == "is_calibration"]
    assert purposes == [str(int(x["purpose"] == "calibration")) for x in told["runs"]]
    assert {row["purpose"] for row in told["runs"]} == {"calibration", "comparison"}
    measured = read_measurements(table)
    assert len(measured) == len(told["runs"])
    compared = [row for row in told["runs"] if row["purpose"] == "comparison"]
    assert told["coverage"] == sum(row["inside"] for row in compared) / len(compared)
    assert picture.read_text().startswith("<?xml")
    printed = parcast("validate", "sort", "--quick", "-o", "-")
    assert printed.out.startswith("callpath,p,n,repetition,metric,value\nsort,")


def test_a_table_of_its_runs_can_be_forecast(parcast, machine, tmp_path):
    machine(FakeRanks(noise=0.01))
    table = tmp_path / "runs.csv"
    assert parcast("validate", "sort", "-np", "1,2,4", "-o", table).status == 0
    said = parcast("forecast", table, "-p", "8")
    assert (said.status, said.err) == (0, "")
    assert "sort" in said.out


def test_the_error_of_the_law_goes_into_the_description_of_the_program(parcast, machine, tmp_path):
    machine(FakeRanks(noise=0.01))
    new, mine = tmp_path / "new.toml", tmp_path / "mine.toml"
    kept = '# mine\n[[phase]]\nlaw = "sort"  # as tried\ncapacities = { compute = "5 Mflop/s" }\n'
    mine.write_text(kept)
    assert parcast("validate", "sort", "-o", new, "-o", mine, "--seed", "2").status == 0
    assert mine.read_text().startswith(kept)
    [own], [same] = (read_program(path).law_error for path in (new, mine))
    assert own == same
    assert (own.law, own.platform, own.largest) == ("sort", "one node", 2)
    assert re.fullmatch(r"\d validated predictions, p = 1 to 2, n = \d+ to \d+", own.runs)
    here = tmp_path / "here.toml"
    here.write_text('[storage]\nbandwidth = "2 MB/s"\n')
    answer = parcast("predict", mine, here, "-p", "1", "-n", "1e6", "--json")
    [said] = json.loads(answer.out)["law_error"]
    assert (said["is_own"], said["most"]) == (True, own.error)
    assert parcast("validate", "sort", "-o", mine, "--seed", "3").status == 0
    assert len(read_program(mine).law_error) == 1


def test_too_few_comparisons_write_no_error_of_the_law(parcast, machine, tmp_path):
    machine(FakeRanks(noise=0.01))
    path = tmp_path / "new.toml"
    said = parcast("validate", "sort", "-np", "2", "-n", "2e6,4e6", "-o", path)
    assert "new.toml was not written: an error needs 3 comparisons" in said.err
    assert not path.exists()


@pytest.mark.parametrize(
    ("text", "names", "says"),
    [
        ('[[phase]]\nlaw = "gauss"\n', ["sort"], 'with the law "sort", got one with gauss'),
        ('[[phase]]\nlaw = "sort"\nmerge = "scan"\n', ["sort"], "with merge = tree, got scan"),
        ("[[phase]]\nlaw = 3\n", ["sort"], "is no description of a program"),
        ("", ["sort"], "is no description of a program"),
        ("[[phase]]\n", ["sort", "gauss"], "is of one program, got several"),
        ("[[phase]]\n", ["all"], "is of one program, got several"),
    ],
)
def test_a_description_of_another_program_is_refused_before_anything_runs(
    parcast, tmp_path, *, text, names, says
):
    path = tmp_path / "other.toml"
    path.write_text(text)
    said = parcast("validate", *names, "-o", path)
    assert said.status in (2, 3)
    assert says in said.err
    assert path.read_text() == text


def test_intervals_that_tell_nothing_have_the_status_4(parcast, machine):
    machine(FakeRanks(noise=0.8))
    said = parcast("validate", "sort", "--json")
    assert said.status == 4
    assert said.err == "parcast: no answer for sort: the verdict and warnings say why.\n"
    document = json.loads(said.out)
    (program,) = document["programs"]
    assert (document["holds"], program["holds"], program["answer"]) == (None, None, "cannot tell")
    assert "that a wrong law would pass. Repeat on" in program["verdict"][0]


@pytest.mark.fault(
    "Signals", "SIGTERM during a validation.", promise="What was compared is shown and written."
)
def test_a_signal_that_ends_it_shows_and_writes_what_was_compared(parcast, machine, tmp_path):
    whole = machine(FakeRanks())
    parcast("validate", "sort")

    class Ended(FakeRanks):
        def __call__(self, launch, **others):
            if len(self.launches) == len(whole.launches) - 1:
                os.kill(os.getpid(), signal.SIGTERM)
            super().__call__(launch, **others)

    machine(Ended())
    table = tmp_path / "runs.csv"
    said = parcast("validate", "sort", "-o", table)
    assert (said.status, said.err) == (
        130,
        f"parcast: wrote {table}.\nparcast: interrupted.\n",
    )
    assert re.search(r"stopped by  interrupted: \d of 6 points were measured", said.out)
    assert any(x.time.size for x in [read_measurements(table)])


def test_a_part_does_not_take_the_place_of_what_is_there(parcast, machine, tmp_path):
    table = tmp_path / "runs.csv"
    whole = machine(FakeRanks())
    parcast("validate", "sort", "-o", table)
    before = table.read_text()
    machine(FakeRanks(fails_after=len(whole.launches) - 1))
    said = parcast("validate", "sort", "-o", table)
    assert said.status == 130
    assert table.read_text() == before
    assert len(read_measurements(tmp_path / "runs.interrupted.csv")) < len(
        read_measurements(table)
    )


def test_without_a_name_the_programs_are_listed(parcast):
    said = parcast("validate")
    assert (said.status, said.err) == (0, "")
    assert [line.split()[0] for line in said.out.splitlines()] == [
        *COUNTED,
        *("array-io", "pipeline", "runs"),
    ]


def test_interrupted_in_a_later_program_it_shows_the_first(parcast, machine):
    whole = machine(FakeRanks())
    parcast("validate", "sort")
    machine(FakeRanks(fails_after=len(whole.launches) + 2))
    said = parcast("validate", "sort", "fractal", "gauss")
    assert said.status == 130
    assert "warning:    Interrupted before fractal, gauss was compared." in said.out
    assert said.err == "parcast: interrupted.\n"


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (("bubble",), 2, "must be a program,"),
        (("all", "sort"), 2, "Name programs, or all, not both."),
        (("sort", "-np", "0"), 2, "-np must be"),
        (("sort", "--longest", "0s"), 2, "--longest must be above 0"),
        (("sort", "-n", "1e5..x"), 2, "-n must be"),
        (("sort", "--calibrate-with", "1e5"), 2, "--calibrate-with must be at least 2 sizes"),
        (("sort", "-o", "a.txt"), 2, "-o must be a path that ends in"),
        (("sort", "--time-limit", "1 us"), 4, "reached before anything was predicted"),
    ],
)
def test_refusals(parcast, machine, args, status, says):
    if args[0] == "sort":
        machine(FakeRanks())
    said = parcast("validate", *args)
    assert said.status == status
    assert says in said.err
    assert said.out == ""
