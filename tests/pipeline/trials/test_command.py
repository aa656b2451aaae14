"""`parcast validate pipeline`: every form of the answer, statuses, refusals, and one real run."""

import json
import shutil

import pytest

from parcast.descriptions.toml_files import read_program
from parcast.pipeline.trials.subject import validate_pipeline
from parcast.pipeline.trials.work import OwnJob
from parcast.timings.tables.files import read_measurements
from tests.conftest import ROOT
from tests.pipeline.trials.made import Engine, lawful


@pytest.fixture
def engine(monkeypatch):
    """Let the command use an engine of known truth, with a core for each rank."""

    def use(made):
        monkeypatch.setitem(validate_pipeline.__kwdefaults__, "launcher", made)
        return made

    return use


def asked(parcast, *options):
    return parcast("validate", "pipeline", "--cores", "16", *options)


def test_a_law_that_agrees_has_the_status_0(parcast, engine):
    engine(Engine(noise=0.01))
    said = asked(parcast)
    assert (said.status, said.err) == (0, "")
    assert "adaptive: pipeline, 20 ms a task" in said.out
    assert "source: pipeline, 20 ms a task" in said.out
    assert said.out.count("law         agrees: median error") == 2
    assert "M/M/1" in said.out


def test_the_error_of_the_law_goes_into_the_description_of_the_program(parcast, engine, tmp_path):
    engine(Engine(noise=0.01))
    path = tmp_path / "mine.toml"
    said = asked(parcast, "-o", path)
    assert said.status == 2
    assert 'must be the description of a program with the law "pipeline"' in said.err
    shutil.copy(ROOT / "examples" / "pipeline" / "published.toml", path)
    assert asked(parcast, "-o", path).status == 0
    [own] = read_program(path).law_error
    assert (own.law, own.platform, own.error) == ("pipeline", "one node", 0.05)


def test_a_law_that_does_not_agree_has_the_status_1(parcast, engine):
    engine(Engine(time=lambda point: lawful(point) * point.items**0.4))
    said = asked(parcast, "--schedule", "adaptive")
    assert said.status == 1
    assert said.err == "parcast: no: The law does not hold for adaptive.\n"


def test_a_reason_that_all_laws_share_is_said_once(parcast, monkeypatch):
    monkeypatch.setattr("parcast.mpi.find.find_spec", lambda _: None)
    said = asked(parcast)
    assert said.status == 4
    assert said.err == (
        "parcast: No program could be validated. Starting ranks needs mpi4py, which is not "
        'installed. Install mpi4py and an MPI with: pip install "parcast[mpi]"\n'
    )


def test_every_form_has_the_same_facts(parcast, engine, tmp_path):
    engine(Engine(noise=0.01))
    table, document, picture = (tmp_path / f"a.{x}" for x in ("csv", "json", "svg"))
    said = asked(
        parcast, "--layouts", "2x1,4x2,8", "-n", "64,128,256", "--calibrate-with", "16,32",
        "--task", "10ms", "--merge", "0s", "--message", "1kB", "--growing", "--repetitions", "2",
        "--json", "-o", table, "-o", document, "-o", picture,
    )  # fmt: skip
    assert said.status == 0
    assert [*said.err.splitlines()] == [f"parcast: wrote {x}." for x in (table, document, picture)]
    told = json.loads(said.out)
    assert told == json.loads(document.read_text())
    assert told["schema"] == "parcast/pipeline-validation/1"
    assert told["work"] == {"task": 0.01, "merge": 0.0, "message": 1000, "grows": True}
    assert len(told["rows"]) == 2 * 3 * 3
    row = told["rows"][0]
    assert row["calibrated_error"] == pytest.approx(row["calibrated_s"] / row["measured_s"] - 1)
    runs = read_measurements(table)
    times = sorted(run["time_s"] for run in told["runs"] if run["counts"])
    assert sorted(runs.time.tolist()) == pytest.approx(times)
    assert picture.read_text().startswith("<?xml")


def test_an_interval_that_reaches_0_is_drawn(parcast, engine, tmp_path):
    engine(Engine(noise=0.9))
    said = asked(parcast, "--schedule", "source", "-o", tmp_path / "a.svg", "--json")
    rows = json.loads(said.out)["rows"]
    assert min(row["lower_s"] for row in rows) == 0
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--layouts", "2y1"], "--layouts must be layouts PxG, got '2y1'"),
        (["--layouts", "3x1", "--schedule", "source"], "--layouts must have a P that is a power"),
        (["--task", "-1s"], "--task must be above 0"),
        (["--message", "3"], "--message must be"),
        (["-n", "8", "--calibrate-with", "4,8"], "--calibrate-with must be below"),
        (["--schedule", "fast"], "--schedule"),
    ],
)
def test_wrong_use_is_refused_in_options(parcast, engine, options, says):
    engine(Engine())
    said = parcast("validate", "pipeline", *options)
    assert said.status == 2
    assert says in said.err


def test_a_job_of_the_users_own_is_run_on_its_first_items(parcast, engine, tmp_path):
    engine(Engine(noise=0.01))
    job = tmp_path / "squares_of_numbers.py"
    job.write_text("def items(end):\n    return range(int(end))\ndef task(n):\n    return n * n\n")
    said = asked(parcast, job, "256", "--layouts", "2x1,4x1", "--json")
    assert (said.status, said.err) == (0, "")
    told = json.loads(said.out)
    assert sorted({row["n"] for row in told["rows"]}) == [64, 128, 256]
    assert told["work"] == {"path": str(job), "arguments": ["256"]}
    work = OwnJob(path=str(job), arguments=("256",))
    assert list(work.items(3)) == [0, 1, 2]
    assert work.functions()["task"](3) == 9
    assert "job squares_of_numbers" in asked(parcast, job, "256", "--quick").out
    for few in ("20", "0"):
        said = asked(parcast, job, few)
        assert said.status == 2
        assert said.err.startswith(
            f"parcast: ARGUMENT must give a job 64 items or more, got {few}."
        )


def test_a_real_run_on_two_ranks(parcast, monkeypatch):
    """Others may have the processors: what is disturbed is not run again."""
    monkeypatch.setattr("parcast.pipeline.trials.subject.FURTHER", 0)
    monkeypatch.setattr("parcast.pipeline.trials.subject.PATIENCE", 0.0)
    said = parcast(
        "validate", "pipeline", "--layouts", "2x1", "-n", "16", "--calibrate-with", "4,8",
        "--task", "2ms", "--quick", "--json",
    )  # fmt: skip
    assert said.status in (0, 1, 4), said.err  # its time depends on what else runs here
    told = json.loads(said.out)
    assert [row["schedule"] for row in told["rows"]] == ["adaptive", "source"]
    for row, runs in zip(told["rows"], told["schedules"], strict=True):
        assert row["measured_s"] > 16 * 0.002 / 2
        assert runs["costs"]["task_processor_s"] == pytest.approx(0.002, rel=0.2)
        assert runs["costs"]["message_B"] >= 24_000 * (row["schedule"] == "adaptive")
