"""`run_kernel`: what it starts, what it gives back, and what it refuses before it starts."""

import json
from pathlib import Path

import numpy as np
import pytest

import parcast
from parcast.errors import ParameterError, RunFailed
from parcast.kernels import run as verb
from parcast.kernels.ledger import Alone
from parcast.kernels.registry import KERNELS
from parcast.kernels.worker import KernelTask, runs_of
from parcast.saved.fields import object_of, written


@pytest.fixture
def launched(monkeypatch):
    """Run tasks here in place of a launch, and note them."""
    tasks = []

    def run_ranks(module, arguments, *, ranks, time_limit, placement, called):
        assert called in KERNELS
        assert placement in {"auto", "spread"}
        assert module == "parcast.kernels.worker"
        document = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
        answer = document.pop("answer")
        tasks.append((ranks, time_limit, document))
        with Path(answer).open("w", encoding="utf-8") as stream:
            for run in runs_of(Alone(), object_of(KernelTask, document)):
                stream.write(json.dumps(written(run)) + "\n")

    monkeypatch.setattr(verb, "run_ranks", run_ranks)
    return tasks


@pytest.mark.parametrize(
    ("told", "placements"), [(None, ["auto", "auto", "spread"]), ("free", ["auto"] * 3)]
)
def test_more_ranks_than_cores_are_dealt_out(monkeypatch, told, placements):
    found = []

    def run_ranks(*_, placement, **__):
        found.append(placement)

    monkeypatch.setattr(verb, "run_ranks", run_ranks)
    monkeypatch.setattr(verb, "available_cores", lambda: (0, 1))
    monkeypatch.delenv("PARCAST_PLACEMENT", raising=False)
    if told:
        monkeypatch.setenv("PARCAST_PLACEMENT", told)
    parcast.run_kernel("monte_carlo", n=100, ranks=[1, 2, 3])
    assert found == placements


def test_sizes_and_repetitions_share_a_launch(launched):
    steps = []
    runs = parcast.run_kernel(
        "monte_carlo",
        n=np.array([100, 1e3]),
        ranks=np.array([1, 3]),
        repetitions=2,
        seed=4,
        time_limit=9.0,
        progress=lambda *x: steps.append(x),
    )
    assert [(run.n, run.repetition) for run in runs] == [
        (100, 1),
        (100, 2),
        (1000, 1),
        (1000, 2),
    ] * 2
    assert [(ranks, limit) for ranks, limit, _ in launched] == [(1, 9.0), (3, 9.0)]
    assert launched[0][2] == {
        "kernel": "monte_carlo",
        "sizes": [100, 1000],
        "repetitions": 2,
        "seed": 4,
        "check": None,
        "directory": None,
        "patience": 0.0,
        "quantum": None,
        "course": None,
    }
    assert steps == [(0, 2), (1, 2)]


@pytest.mark.parametrize("failure", [RunFailed("kernels.worker on 2 ranks."), KeyboardInterrupt()])
def test_what_ended_before_a_failure_is_handed_over(monkeypatch, failure):
    def run_ranks(_, arguments, *, ranks, **__):
        document = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
        answer = document.pop("answer")
        runs = runs_of(Alone(), object_of(KernelTask, document))
        told = [json.dumps(written(run)) for run in runs]
        if ranks == 1:
            Path(answer).write_text("".join(f"{x}\n" for x in told), encoding="utf-8")
            return
        Path(answer).write_text(f"{told[0]}\n{told[1][:20]}", encoding="utf-8")
        raise failure

    monkeypatch.setattr(verb, "run_ranks", run_ranks)
    ended = []
    with pytest.raises(type(failure)):
        parcast.run_kernel("monte_carlo", n=[10, 20], ranks=[1, 2, 3], each=ended.append)
    assert [run.n for run in ended] == [10, 20, 10]


def test_a_size_may_be_text(launched):
    [run] = parcast.run_kernel("monte_carlo", n="1e2")
    assert (run.n, len(launched)) == (100, 1)


def test_files_stand_in_the_directory_for_a_while(launched, tmp_path):
    [run] = parcast.run_kernel("sort", n=100, directory=tmp_path, check=True)
    assert run.is_correct
    assert Path(launched[0][2]["directory"]).parent == tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": "sotr"}, "name must be a program, got sotr. Did you mean sort?"),
        ({"n": 1.5}, "n must be a whole number of at least 0, got 1.5."),
        ({"n": []}, "n must name a size, got 0. Give a size such as 1e6."),
        ({"n": 10**15}, "n must fit into the memory of the host, got 1,000,000,000,000,000"),
        ({"ranks": 0}, "ranks must be whole numbers of at least 1, got 0. Count from 1."),
        ({"ranks": [1, 1.5]}, "ranks must be whole numbers of at least 1, got 1.5."),
        ({"ranks": [1, 5000]}, "ranks must be at most 4096, got 5000. They all run on this"),
        ({"repetitions": 0}, "repetitions must be a whole number of at least 1, got 0."),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1."),
        ({"seed": 1.5}, "seed must be a whole number of at least 0, got 1.5."),
        ({"time_limit": 0}, "time_limit must be above 0, got 0."),
    ],
)
def test_what_is_asked_wrongly_is_refused_before_anything_starts(launched, changes, says):
    with pytest.raises(ParameterError) as caught:
        parcast.run_kernel(**{"name": "sort", "n": 10} | changes)
    assert str(caught.value).startswith(says)
    assert launched == []


def test_a_directory_that_cannot_be_written_to_is_told(launched, refusal):
    assert refusal(RunFailed, parcast.run_kernel, "sort", n=10, directory="/no/such") == (
        "/no/such cannot be used for the files of the run: no such file or directory. "
        "Choose another directory."
    )
    assert launched == []


def test_a_failure_is_told_with_the_name_of_the_program(monkeypatch):
    def run_ranks(*_, called, ranks, **__):
        raise RunFailed(f"{called} on {ranks} ranks did not end within 1 s and was killed.")

    monkeypatch.setattr(verb, "run_ranks", run_ranks)
    with pytest.raises(RunFailed, match=r"^sort on 2 ranks did not end within 1 s"):
        parcast.run_kernel("sort", n=10, ranks=2)


def test_ranks_that_are_started_give_their_runs():
    [run] = parcast.run_kernel("matmul", n=50, ranks=2, time_limit=300.0)
    assert (run.p, run.is_correct, run.messages) == (2, True, (2, 1))


def test_what_a_rank_refuses_reaches_the_caller(tmp_path):
    with pytest.raises(RunFailed, match="cannot be used for the files of the keys"):
        verb.run_ranks(
            verb.WORKER, [str(_written(tmp_path / "task.json"))], ranks=2, time_limit=300.0
        )


def _written(path):
    """Write a task whose directory is not there."""
    task = written(KernelTask(kernel="sort", sizes=(10,), directory="/no/such"))
    path.write_text(json.dumps({**task, "answer": str(path)}), encoding="utf-8")
    return path
