"""``python -m parcast.kernels``: the programs under an mpiexec of the user's own."""

import csv
import io
import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

import parcast
from parcast.errors import RunFailed
from parcast.kernels import __main__ as program
from parcast.kernels import quanta
from parcast.kernels.ledger import Alone
from parcast.kernels.registry import kernel_named
from parcast.mpi.find import find_mpi


class Second(Alone):
    """Rank 1 of two, which was told a task, and notes that all were ended."""

    aborted = None

    def __init__(self, told):
        self.told = told

    def Get_rank(self):  # noqa: N802 - the name that mpi4py gives it
        return 1

    def Get_size(self):  # noqa: N802 - the name that mpi4py gives it
        return 2

    def bcast(self, obj, root):  # noqa: ARG002 - as mpi4py has it
        return self.told

    def Abort(self, status):  # noqa: N802 - the name that mpi4py gives it
        self.aborted = status


def test_one_rank_prints_a_table_of_measurements(capsys, monkeypatch):
    monkeypatch.setattr(quanta, "work_quantum", lambda: 1e-5)  # whatever else runs here
    monkeypatch.setattr(quanta, "waited_for_core", lambda: 0.0)
    assert program.main(["matmul", "-n", "5,1e1", "--repetitions", "2"], Alone()) == 0
    said = capsys.readouterr()
    assert said.err == ""
    rows = list(csv.DictReader(io.StringIO(said.out)))
    assert {row["n"] for row in rows} == {"5", "10"}
    table = parcast.read_measurements(io.StringIO(said.out))
    assert len(table) == 4


def test_files_are_written(tmp_path, capsys):
    table, document = tmp_path / "a.csv", tmp_path / "a.json"
    for path in (table, document):
        assert program.main(["gauss", "-n", "9", "--no-check", "-o", str(path)], Alone()) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "No result was checked" in said.err
    assert len(parcast.read_measurements(table)) == 1
    assert json.loads(document.read_text())["rows"][0]["program"] == "gauss"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["sotr", "-n", "5"], "parcast: name must be a program, got sotr. Did you mean"),
        (["sort", "-n", "x"], "parcast: n must be a whole number of at least 0, got 'x'."),
        (["sort", "-n", "5", "-o", "a.txt"], "-o must be a path that ends in .csv or .json"),
        (["sort", "-n", "5", "--repetitions", "0"], "repetitions must be at least 1, got 0"),
        (["sort", "-n", "5", "--patience=-1s"], "--patience must be at least 0 s, got -1."),
        (["sort", "-n", "5", "--patience", "10"], "--patience must be a time with its unit"),
        ([], "the following arguments are required: name"),
    ],
)
def test_wrong_use_ends_with_2(arguments, says, capsys):
    assert program.main(arguments, Alone()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert says in said.err


def test_help_ends_with_0(capsys):
    assert program.main(["--help"], Alone()) == 0
    assert "Programs: sort, square_sort" in capsys.readouterr().out


def test_a_run_that_fails_ends_with_4(capsys):
    assert program.main(["sort", "-n", "5", "--directory", "/no/such"], Alone()) == 4
    assert "/no/such cannot be used for the files of the keys" in capsys.readouterr().err


def test_a_wrong_result_ends_with_1(monkeypatch, capsys):
    kernel = kernel_named("matmul")
    functions = kernel.functions._replace(is_correct=lambda *_: False)
    wrong = replace(kernel, functions=functions)
    monkeypatch.setattr("parcast.kernels.worker.kernel_named", lambda _: wrong)
    assert program.main(["matmul", "-n", "5"], Alone()) == 1
    assert "Wrong result at" in capsys.readouterr().err


def test_another_rank_takes_what_the_first_was_told(capsys, monkeypatch):
    assert program.main([], Second(2)) == 2
    task = program.KernelTask(kernel="gauss", sizes=(3,))
    monkeypatch.setattr(program, "runs_of", lambda *_: iter([]))
    assert program.main([], Second((task, None))) == 0
    assert capsys.readouterr() == ("", "")


def test_a_rank_that_fails_ends_all(capsys, monkeypatch):
    def fail(*_):
        raise RunFailed("The matrix is singular.")

    monkeypatch.setattr(program, "runs_of", fail)
    second = Second((program.KernelTask(kernel="gauss", sizes=(3,)), None))
    assert program.main([], second) == 4
    assert second.aborted == 4
    assert capsys.readouterr().err == "parcast: The matrix is singular.\n"


def test_a_refusal_of_all_ranks_is_said_by_the_first_alone(capsys):
    second = Second((program.KernelTask(kernel="sotr", sizes=(3,)), None))
    assert program.main([], second) == 2
    assert second.aborted is None
    assert capsys.readouterr() == ("", "")


def test_it_runs_under_mpiexec():
    mpi = find_mpi()
    command = [mpi.mpiexec, "-n", "2", sys.executable, "-m", "parcast.kernels"]
    command += ["monte_carlo", "-n", "2000"]
    env = os.environ | mpi.environment(crowded=True)
    said = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    rows = list(csv.DictReader(io.StringIO(said.stdout)))
    assert {row["p"] for row in rows} == {"2"}
    assert {row["metric"]: row["value"] for row in rows}["is_correct"] == "1"


def test_without_a_size_a_program_takes_one_of_its_own():
    assert program._task(["gauss"])[0].sizes == (kernel_named("gauss").example,)


def test_ranks_that_another_mpiexec_started_are_refused_by_each(tmp_path):
    command = [sys.executable, "-m", "parcast.kernels", "monte_carlo", "-n", "100"]
    env = os.environ | {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}
    keys = {"capture_output": True, "text": True, "cwd": tmp_path}
    said = subprocess.run(command, env=env, check=False, **keys)
    assert said.returncode == program.FAILED
    assert said.stdout == ""
    assert "parcast: mpiexec has started 2 processes, but MPI connects none of them" in said.stderr
    assert "Traceback" not in said.stderr
