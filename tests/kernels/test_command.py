"""`parcast run`: what it prints in every form, what it refuses, and with which status."""

import csv
import errno
import io
import json
from dataclasses import replace

import pytest

import parcast as package
from parcast.errors import RunFailed
from parcast.kernels.command import PARTS
from parcast.kernels.ledger import Alone
from parcast.kernels.registry import KERNELS, kernel_named
from parcast.kernels.worker import KernelTask, runs_of
from tests.forecasting.test_command import document


@pytest.fixture
def asked(monkeypatch):
    """Run programs here, on one rank each, in place of a launch; note what was asked."""
    calls = []

    def run_kernel(name, *, n, ranks, each, **options):
        calls.append({"name": name, "n": n, "ranks": ranks, **options})
        repetitions = options["repetitions"]
        task = KernelTask(
            kernel=name, sizes=tuple(n), repetitions=repetitions, check=options["check"]
        )
        for run in runs_of(Alone(), task):
            for _ in ranks:
                each(run)

    monkeypatch.setattr("parcast.kernels.run.run_kernel", run_kernel)
    return calls


def test_without_a_name_the_programs_are_listed(parcast, monkeypatch):
    monkeypatch.setattr("parcast.kernels.command.KERNELS", {"sort": KERNELS["sort"]})
    said = parcast("run")
    assert (said.status, said.err) == (0, "")
    first, second, *_ = said.out.splitlines()
    assert (
        first == "sort       sort the keys of a file by merging, O(n log n); n: keys, such as 4e6"
    )
    assert second.startswith(
        "pipeline   run a task on many items, merge the results; see parcast "
    )
    assert [line.split()[0] for line in said.out.splitlines()] == ["sort", *PARTS]


def test_a_run_is_printed_as_a_table(parcast, asked):
    said = parcast("run", "matmul", "-n", "20,1e2", "-np", "1")
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("matmul: product of two square matrices\n")
    assert [line.split()[:2] for line in said.out.splitlines()[4:6]] == [["1", "20"], ["1", "100"]]
    assert asked == [
        {
            "name": "matmul",
            "n": [20, 100],
            "ranks": [1],
            "repetitions": 1,
            "seed": 0,
            "check": None,
            "directory": None,
            "time_limit": 3600.0,
            "patience": 0.0,
            "progress": asked[0]["progress"],
        }
    ]


def test_options_are_handed_on(parcast, asked):
    said = parcast(
        "run", "sort", "-n", "0,8..32x2", "-np", "1..4x2", "--repetitions", "2", "--seed", "3",
        "--no-check", "--directory", "/data", "--time-limit", "5s", "--patience", "9s",
        "--json",
    )  # fmt: skip
    assert (said.status, said.err) == (0, "")
    assert (asked[0]["n"], asked[0]["ranks"]) == ([0, 8, 16, 32], [1, 2, 4])
    told = document(said)
    assert told["schema"] == "parcast/runs/1"
    assert len(told["rows"]) == 4 * 3 * 2
    assert "No result was checked" in told["warnings"][0]
    assert told["inputs"]["options"] == {
        "n": [0, 8, 16, 32],
        "ranks": "1..4x2",
        "repetitions": 2,
        "seed": 3,
        "check": False,
        "directory": "/data",
        "time_limit_s": 5.0,
        "patience_s": 9.0,
    }


@pytest.mark.usefixtures("asked")
def test_files_hold_the_runs_and_are_read_as_measurements(parcast, tmp_path):
    table, written = tmp_path / "runs.csv", tmp_path / "runs.json"
    page = tmp_path / "runs.html"
    outputs = ("-o", table, "-o", written, "-o", page)
    said = parcast("run", "gauss", "-n", "10", "--repetitions", "3", *outputs)
    assert said.status == 0
    assert said.err == "".join(f"parcast: wrote {x}.\n" for x in (table, written, page))
    assert "<td>10</td>" in page.read_text()
    rows = json.loads(written.read_text())["rows"]
    measured = package.read_measurements(table)
    # On a busy machine one of them may be disturbed, and then has no such time.
    assert measured.time.tolist() == [row["time_s"] for row in rows if row["counts"]]
    assert [row["repetition"] for row in rows] == [1, 2, 3]
    printed = parcast("run", "gauss", "-n", "10", "-o", "-")
    metrics = {row["metric"] for row in csv.DictReader(io.StringIO(printed.out))}
    assert {"time_s", "compute_max", "steps", "is_correct"} <= metrics


def test_a_wrong_result_ends_with_1(parcast, asked, monkeypatch):
    kernel = kernel_named("gauss")
    functions = kernel.functions._replace(is_correct=lambda *_: False)
    wrong = replace(kernel, functions=functions)
    monkeypatch.setattr("parcast.kernels.worker.kernel_named", lambda _: wrong)
    said = parcast("run", "gauss", "-n", "10")
    assert said.status == 1
    assert "NO" in said.out
    assert "Wrong result at p = 1, n = 10, 1" in said.out
    assert len(asked) == 1


def test_what_fails_ends_with_4(parcast, monkeypatch):
    def fail(*_, **__):
        raise RunFailed("Starting ranks needs mpi4py, which is not installed.")

    monkeypatch.setattr("parcast.kernels.run.run_kernel", fail)
    said = parcast("run", "gauss", "-n", "10")
    assert (said.status, said.out) == (4, "")
    assert said.err == "parcast: Starting ranks needs mpi4py, which is not installed.\n"


@pytest.mark.parametrize(
    ("failure", "ends"),
    [
        (RunFailed("gauss on 2 ranks did not end."), (4, "gauss on 2 ranks did not end.")),
        (KeyboardInterrupt(), (130, "interrupted.")),
    ],
)
def test_what_had_ended_before_a_failure_is_shown_and_written(
    parcast, monkeypatch, tmp_path, failure, ends
):
    def run_kernel(name, *, n, each, **_):
        for run in runs_of(Alone(), KernelTask(kernel=name, sizes=tuple(n))):
            each(run)
        raise failure

    monkeypatch.setattr("parcast.kernels.run.run_kernel", run_kernel)
    there, new = tmp_path / "there.csv", tmp_path / "new.csv"
    there.write_text("mine\n")
    said = parcast("run", "gauss", "-n", "10,20", "-np", "1,2", "-o", there, "-o", new)
    assert (said.status, said.err.splitlines()[-1]) == (ends[0], f"parcast: {ends[1]}")
    assert said.out.startswith("gauss: ")
    assert there.read_text() == "mine\n"
    assert len(package.read_measurements(new).time) == 2
    assert (tmp_path / "there.interrupted.csv").read_text() == new.read_text()


@pytest.mark.fault(
    "Output files",
    "One of several outputs cannot be written when the answer is there.",
    promise="Status 2; the answer is printed and the other outputs are written.",
)
@pytest.mark.usefixtures("asked")
def test_a_disk_that_is_full_takes_nothing_of_the_other_answers(parcast, tmp_path, monkeypatch):
    from parcast.files import document as written

    write = written.write_document

    def full(path, pieces):
        if str(path).endswith("full.csv"):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, pieces)

    monkeypatch.setattr("parcast.files.document.write_document", full)
    outputs = ("-o", tmp_path / "full.csv", "-o", tmp_path / "runs.json")
    said = parcast("run", "gauss", "-n", "10", *outputs)
    assert said.status == 2
    assert "full.csv: cannot be written: no space left on device" in said.err
    assert said.out.startswith("gauss: ")
    assert (tmp_path / "runs.json").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("sotr", "-n", "5"), "NAME must be a program, got sotr. Did you mean sort? Programs:"),
        (("sort", "-n", "1.5"), "-n must be whole numbers, got 1.5. Write for example 1000 or"),
        (("sort", "-n", "-5"), "-n must be numbers and ranges"),
        (("matmul", "-n", "1e9"), "n must fit into the memory of the host, got 1,000,000,000"),
        (("sort", "-n", "5", "-np", "5000"), "-np must be at most 4096, got 5000. They all run"),
        (("sort", "-n", "5", "--repetitions", "0"), "be a whole number from 1 to 100000, got '0'"),
        (("sort", "-n", "5", "--time-limit", "0 s"), "--time-limit must be above 0"),
        (("sort", "-n", "5", "-o", "a.svg"), "-o must be a path that ends in .csv, .json"),
        (("sort", "-n", "5", "--json", "-o", "-"), "-o - and --json cannot be combined"),
    ],
)
def test_what_is_asked_wrongly_is_refused(parcast, options, says):
    said = parcast("run", *options)
    assert (said.status, said.out) == (2, "")
    assert says in said.err


def test_a_program_without_a_size_takes_one_of_its_own(parcast, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "parcast.kernels.run.run_kernel",
        lambda name, **options: asked.append((name, options["n"])),
    )
    monkeypatch.setattr("parcast.kernels.command._give", lambda *_: None)
    for name in KERNELS:
        assert parcast("run", name).status == 0
    assert asked == [(name, [kernel_named(name).example]) for name in KERNELS]


def test_ranks_are_started_for_it(parcast):
    said = parcast("run", "fractal", "-n", "500", "-np", "2", "--time-limit", "60s")
    assert (said.status, said.err) == (0, "")
    assert said.out.splitlines()[4].split()[:2] == ["2", "500"]
