"""`parcast validate array-io`: every form of the answer, statuses, refusals, and one real run."""

import json
import shutil
import signal
from pathlib import Path

import pytest

from parcast.arrays.subject import validate_array_io
from parcast.descriptions.fit_record import SWITCH
from parcast.descriptions.toml_files import read_program
from parcast.timings.tables.files import read_measurements
from tests.arrays.trials.made import KnownCosts, Machine, noisy
from tests.conftest import FOREGROUND, until

ROOT = Path(__file__).parents[3]
KNOWN = """
from parcast.arrays import subject
from parcast.cli import main
from tests.arrays.trials.made import KnownCosts
subject.OfLayouts = lambda **_: KnownCosts()
main()
"""
LIST = """
[[request]]
shape = [32, 16]
client_mesh = [2, 1]
servers = 1
quick = true

[[request]]
writer = "sync"
arrays = 4
shape = [32, 16]
client_mesh = [2, 1]
servers = 1

[[request]]
operation = "read"
shape = [32, 16]
client_mesh = [1, 2]
servers = 1
"""


@pytest.fixture
def requests(tmp_path):
    """A file of three requests on two ranks."""
    file = tmp_path / "requests.toml"
    file.write_text(LIST)
    return file


@pytest.fixture
def machine(monkeypatch):
    """Let the command use a machine of known truth."""

    def use(made):
        defaults = validate_array_io.__kwdefaults__
        monkeypatch.setitem(defaults, "launcher", made)
        monkeypatch.setitem(defaults, "costs", KnownCosts())
        return made

    return use


def test_a_law_that_agrees_has_the_status_0(parcast, machine, requests, tmp_path):
    machine(Machine(factor=noisy()))
    said = parcast("validate", "array-io", requests, "--folder", tmp_path)
    assert said.status == 0, said.err
    assert said.out.startswith("array-io: requests of the library, predicted and then run")
    assert "law         agrees: 3 of 3 requests (100%) within 20% (required: 90%);" in said.out
    assert f"in {tmp_path}" in said.out
    assert "Errors of 3 requests are summed up. Each of them: --all" in said.err
    every = parcast("validate", "array-io", requests, "--folder", tmp_path, "-v")
    assert "32" not in said.out.split("law")[0]
    assert "2x1" in every.out
    assert every.err == ""


def test_the_error_of_the_law_goes_into_the_description_of_the_program(
    parcast, machine, requests, tmp_path
):
    machine(Machine(factor=noisy()))
    for name in ("program.toml", "sp2_like.toml"):
        shutil.copy(ROOT / "examples" / "arrays" / name, tmp_path)
    mine = tmp_path / "program.toml"
    said = parcast("validate", "array-io", requests, "--folder", tmp_path, "-o", mine)
    assert said.status == 0, said.err
    [own] = read_program(mine).law_error
    assert (own.law, own.runs) == ("array_io", "3 validated predictions, p = 2")
    told = parcast("predict", mine, ROOT / "examples/btio/sp2.toml", "-p", "4", "--json")
    errors = {x["law"]: x for x in json.loads(told.out)["law_error"]}
    assert not errors["spmd"]["is_own"]  # only that of the I/O was seen, on another platform
    assert (errors["array_io"]["platform"], errors["array_io"]["is_own"]) == (SWITCH, False)


def test_a_law_that_does_not_has_the_status_1(parcast, machine, requests, tmp_path):
    machine(Machine(factor=lambda *_: 1.5))
    said = parcast("validate", "array-io", requests, "--folder", tmp_path, "--all")
    assert said.status == 1
    assert said.err == "parcast: no: The law does not hold for array-io.\n"
    assert "-33*" in said.out


def test_disturbed_runs_are_marked(parcast, machine, requests, tmp_path):
    machine(Machine(factor=lambda *_: 1.5, others=lambda *_: 100.0))
    said = parcast("validate", "array-io", requests, "--folder", tmp_path, "--all")
    assert said.status == 0
    assert "~" in said.out


def test_every_form_has_the_same_facts(parcast, machine, requests, tmp_path):
    machine(Machine(factor=noisy()))
    table, document, picture = (tmp_path / f"a.{x}" for x in ("csv", "json", "svg"))
    said = parcast(
        "validate", "array-io", requests, "--folder", tmp_path, "--repetitions", "2",
        "--seed", "4", "--json", "-o", table, "-o", document, "-o", picture,
    )  # fmt: skip
    assert said.status == 0
    assert [*said.err.splitlines()] == [f"parcast: wrote {x}." for x in (table, document, picture)]
    told = json.loads(said.out)
    assert told == json.loads(document.read_text())
    assert told["schema"] == "parcast/array-io-validation/1"
    assert told["inputs"]["options"]["seed"] == 4
    assert told["predictions_file"] == str(tmp_path / "a.predictions.json")
    saved = json.loads((tmp_path / "a.predictions.json").read_text())
    assert [x["time_s"] for x in saved["predictions"]] == [
        x["time_s"] for x in told["predictions"]
    ]
    runs = read_measurements(table)
    times = sorted(run["time_s"] for run in told["runs"])
    assert sorted(runs.time.tolist()) == pytest.approx(times)
    assert picture.read_text().startswith("<?xml")


@pytest.mark.fault(
    "Signals",
    "Ctrl-C during a validation, with an output that exists.",
    promise="Status 130; the output stays as it was, the part is written beside it.",
)
def test_an_interruption_writes_a_part(parcast, machine, requests, tmp_path):
    machine(Machine(fails_after=0))
    (tmp_path / "a.json").write_text("whole")
    said = parcast(
        "validate", "array-io", requests, "--folder", tmp_path, "-o", tmp_path / "a.json"
    )
    assert said.status == 130
    assert (tmp_path / "a.json").read_text() == "whole"
    assert "stopped by" in said.out
    assert (tmp_path / "a.interrupted.json").exists()


@pytest.mark.parametrize(
    ("options", "status", "says"),
    [
        (["nowhere.toml"], 3, "nowhere.toml"),
        (["--folder", "nowhere"], 2, "--folder must be a folder that exists"),
        (["--repetitions", "0"], 2, "--repetitions must be a whole number"),
        (["--time-limit", "0s"], 2, "--time-limit must be above 0"),
        (["--save", "a.txt"], 2, "a.txt"),
        (["--slow"], 2, "--slow"),
    ],
)
def test_wrong_use_is_refused(parcast, machine, options, status, says):
    machine(Machine())
    said = parcast("validate", "array-io", *options)
    assert said.status == status
    assert says in said.err


@pytest.mark.fault(
    "Signals",
    "Ctrl-C during a validation on ranks.",
    promise="Status 130; no process and no temporary file is left.",
)
def test_an_interruption_leaves_nothing(started, gone, requests, tmp_path):
    requests.write_text(LIST[: LIST.index("[[request]]", 2)])  # one is enough
    folder = tmp_path / "files"
    folder.mkdir()
    process = started(
        FOREGROUND + f"import sys; sys.path.insert(0, {str(ROOT)!r})\n" + KNOWN,
        "validate", "array-io", requests, "--folder", folder, "--repetitions", "1000", "--json",
    )  # fmt: skip
    until(lambda: any(folder.glob("*/trials.jsonl")) or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    told = json.loads(out)
    assert told["ended_by"] == "interrupted"
    assert told["runs"]
    assert [*folder.iterdir()] == []
    assert gone(process)


@pytest.mark.usefixtures("few_references")
def test_real_runs_on_two_ranks(parcast, requests, tmp_path):
    said = parcast(
        "validate", "array-io", requests, "--folder", tmp_path, "--repetitions", "1", "--json"
    )
    assert said.status in (0, 1, 4), said.err  # times depend on what else runs here
    told = json.loads(said.out)
    runs = [run["request"] for run in told["runs"]]
    assert min(run["repetition"] for run in told["runs"]) == 1  # the first round does not count
    assert all(runs.count(i) >= 1 for i in (1, 2, 3))  # disturbed ones are repeated
    for row in told["rows"]:
        assert row["measured_s"] > 0
        parts = ("startup", "assembly", "file_system", "closing")
        total = sum(row[f"measured_{name}_s"] for name in parts)
        assert total == pytest.approx(row["measured_s"], rel=0.5)
    assert {path.name for path in tmp_path.iterdir()} == {"requests.toml"}  # all was removed
