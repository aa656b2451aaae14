"""Checkpoints of the stencil: the same bits after a restart on any ranks, and what is refused."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

import parcast as package
from parcast.arrays.store.draft import Draft
from parcast.arrays.store.layout import ArraySpec
from parcast.arrays.store.reading import open_store
from parcast.errors import FileProblems, ParameterError, RunFailed
from parcast.kernels import __main__ as program
from parcast.kernels import stencil
from parcast.kernels.course import CheckpointOwner, Course, mesh_of, read_checkpoint
from parcast.kernels.ledger import Alone
from parcast.kernels.stencil import KERNEL
from parcast.kernels.worker import KernelTask, runs_of
from parcast.mpi.leftovers import processes_of
from tests.conftest import until

RANKS = "import sys\nfrom parcast.kernels.__main__ import main\nsys.exit(main(sys.argv[1:]))\n"
N, SEED = 40, 3


def alone(n=N, seed=SEED, **asked):
    """Run it on this process."""
    course = Course(**{key: str(x) if isinstance(x, Path) else x for key, x in asked.items()})
    task = KernelTask(kernel="stencil", sizes=(n,), seed=seed, check=True, course=course)
    [run] = runs_of(Alone(), task)
    assert run.is_correct
    return run


def step_of(path):
    """Step of a checkpoint that the program goes on to replace; 0 if it just has."""
    try:
        return read_checkpoint(path).step
    except FileProblems as refusal:
        if "was replaced while it was read" in str(refusal):
            return 0
        raise


def plate(path):
    with open_store(path) as store:
        return store["u"].read()


@pytest.fixture
def half(tmp_path):
    """A checkpoint after 13 steps."""
    alone(steps=13, checkpoint=tmp_path / "half.zarr")
    return tmp_path / "half.zarr"


def test_a_checkpoint_has_the_plate_and_what_it_belongs_to(half):
    assert read_checkpoint(half) == CheckpointOwner(program="stencil", n=N, seed=SEED, step=13)
    with open_store(half) as store:
        assert (store["u"].dimensions, store["u"].dtype) == (("y", "x"), np.dtype(float))
        assert store.attributes["step"] == 13
    serial, _ = stencil.serial(N, SEED, 13)
    np.testing.assert_allclose(plate(half), serial, rtol=1e-12)


def test_time_in_checkpoints_is_reported_apart(tmp_path):
    run = alone(steps=25, checkpoint=tmp_path / "u.zarr", checkpoint_every=5)
    assert 0 < run.checkpoint < run.time
    assert (run.restart, run.disk) == (0, 0)
    assert run.disk_bytes == 5 * 8 * N * N
    again = alone(steps=30, restart=tmp_path / "u.zarr")
    assert again.restart > 0 == again.checkpoint
    assert again.steps == (5 * (N - 2) ** 2,)


def test_steps_alone_change_nothing_else(tmp_path):
    for steps in (3, 25):
        run = KERNEL.run(Alone(), N, check=True, directory=tmp_path, course=Course(steps=steps))
        assert run.is_correct
        assert run.disk_bytes == steps // 10 * 8 * N * (N - 2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_the_smallest_plates_have_checkpoints(tmp_path, n):
    path = tmp_path / "u.zarr"
    alone(n=n, steps=3, checkpoint=path)
    assert plate(path).shape == (n, n)
    alone(n=n, steps=4, restart=path)


@pytest.mark.fault(
    "Stores of arrays",
    "A program with checkpoints is killed and restarted on other ranks.",
    promise="Its result has the same bits as without the interruption.",
)
def test_after_a_rank_was_killed_others_go_on_from_its_checkpoint_to_the_same_bits(
    started, ran, gone, tmp_path
):
    path = tmp_path / "killed.zarr"
    arguments = ("stencil", "-n", N, "--seed", SEED, "--no-check")
    process = started(
        *(RANKS, *arguments, "--steps", 10**7, "--checkpoint-every", 7, "--servers", 2),
        *("--checkpoint", path),
        ranks=4,
    )
    until(lambda: path.exists() and step_of(path) >= 14)
    ranks = [pid for pid in processes_of(process.token) if is_rank(pid)]
    assert len(ranks) == 4
    os.kill(ranks[2], signal.SIGKILL)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert gone(process)

    step = read_checkpoint(path).step
    assert step % 7 == 0
    steps = step + 9
    alone(steps=steps, checkpoint=tmp_path / "undisturbed.zarr")
    expected = plate(tmp_path / "undisturbed.zarr")
    end = tmp_path / "3-1x3.zarr"
    status, out, err = ran(
        *(RANKS, *arguments, "--steps", steps, "--mesh", "1x3", "--restart", path),
        *("--checkpoint", end),
        ranks=3,
    )
    assert status == 0, err
    assert plate(end).tobytes() == expected.tobytes()
    assert read_checkpoint(end).step == steps
    assert "restart" in out
    alone(steps=steps, restart=path, checkpoint=tmp_path / "1.zarr")
    assert plate(tmp_path / "1.zarr").tobytes() == expected.tobytes()


def is_rank(pid):
    return b"program.py" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1]


BOTH = """
import sys
from parcast.kernels.__main__ import main

for n in ("4", "190"):  # a rank without points; tall tiles
    if status := main([*sys.argv[1:], "-n", n, "--checkpoint", f"{n}.zarr"]):
        sys.exit(status)
"""


def test_a_mesh_of_columns_computes_the_same_bits(ran, tmp_path):
    status, _, err = ran(BOTH, "stencil", "--mesh", "1x4", "--steps", 5, "--check", ranks=4)
    assert status == 0, err
    for n in (4, 190):
        alone(n=n, seed=0, steps=5, checkpoint=tmp_path / "one.zarr")
        assert plate(tmp_path / f"{n}.zarr").tobytes() == plate(tmp_path / "one.zarr").tobytes()


def test_the_command_shows_the_time_in_checkpoints(parcast, tmp_path):
    path = tmp_path / "heat.zarr"
    asked = ("run", "stencil", "-np", "2", "-n", "60", "--time-limit", "60s")
    said = parcast(*asked, "--checkpoint", path, "--servers", "2", "--json")
    assert said.status == 0, said.err
    told = json.loads(said.out)
    [row] = told["rows"]
    assert 0 < row["checkpoint_s"] < row["time_s"]
    assert row["is_correct"]
    assert told["inputs"]["options"]["checkpoint"] == str(path)
    assert "restart" not in told["inputs"]["options"]
    said = parcast("run", "stencil", "--steps", "30", "--restart", path, "--check")
    assert said.status == 0, said.err
    assert "restart: reading a checkpoint, before the time begins" in said.out
    assert said.out.splitlines()[4].split()[:2] == ["1", "60"], "the size is that of the store"
    table = tmp_path / "runs.csv"
    assert parcast("run", "stencil", "--steps", "30", "--restart", path, "-o", table).status == 0
    assert "restart" in table.read_text()


def test_a_run_that_fails_names_its_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "heat.zarr"

    def run_ranks(*_, **__):
        if not path.parent.joinpath("early").exists():
            alone(seed=0, steps=7, checkpoint=path)
        raise RunFailed("stencil on 2 ranks did not end within 1 s and was killed.")

    monkeypatch.setattr("parcast.kernels.run.run_ranks", run_ranks)
    asked = {"n": N, "ranks": 2, "steps": 9, "checkpoint": path}
    says = r"^stencil on 2 .* killed\. .*/heat\.zarr has step 7: go on from it with restart='"
    with pytest.raises(RunFailed, match=says):
        package.run_kernel("stencil", **asked)
    (path.parent / "early").touch()
    with pytest.raises(RunFailed, match=r"killed\.$"):
        package.run_kernel("stencil", **asked | {"checkpoint": tmp_path / "other.zarr"})


@pytest.mark.fault(
    "Signals",
    "Ctrl-C during `parcast run` with a checkpoint.",
    promise="Status 130; the message names the checkpoint and its step.",
)
def test_a_run_that_is_interrupted_names_its_checkpoint(parcast, tmp_path, monkeypatch):
    path = tmp_path / "heat.zarr"

    def run_kernel(*_, **__):
        alone(seed=0, steps=7, checkpoint=path)
        raise KeyboardInterrupt

    monkeypatch.setattr("parcast.kernels.run.run_kernel", run_kernel)
    said = parcast("run", "stencil", "-n", N, "--checkpoint", path)
    assert (said.status, said.out) == (130, "")
    assert f"parcast: {path} has step 7: go on from it with --restart {path}." in said.err


# What is refused


def other_store(path):
    draft = Draft.create(path, [ArraySpec(name="u", shape=(2,), dtype="f8", chunk=(2,))])
    draft.abandon()
    with package.arrays.connect() as io:
        io.write(path, {"u": package.arrays.Block(np.ones(2), (2,), (1,))})
    return path


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"n": 41}, "n must be 40, as in the checkpoint HALF, got 41. Use the same as in"),
        ({"seed": 0}, "seed must be 3, as in the checkpoint HALF, got 0."),
        ({"steps": 13}, "steps must be above 13, the step of HALF, got 13. Give the number of"),
        ({"steps": 0}, "steps must be a whole number of at least 1, got 0."),
        ({"servers": 2}, "servers must be at most the 1 ranks, got 2."),
        ({"mesh": (2, 1)}, "mesh must have two numbers whose product is the number of ranks, 1,"),
        ({"mesh": (1,)}, "mesh must have two numbers whose product is the number of ranks, 1,"),
        ({"checkpoint_every": 5}, "checkpoint_every must be left out without checkpoint, got 5."),
        ({"checkpoint": "no/such/x.zarr"}, "checkpoint must be a new path, such as heat.zarr, in"),
        ({"checkpoint": "x.npy"}, "checkpoint must be a new path, such as heat.zarr, in a folder"),
        ({"name": "gauss"}, "steps must be left out for gauss, which has no time steps, got 20."),
        ({"ranks": [1, 2], "checkpoint": "x.zarr"}, "checkpoint must be left out where there are"),
        ({"repetitions": 2, "checkpoint": "x.zarr"}, "checkpoint must be left out where there ar"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_starts(half, monkeypatch, asked, says):
    monkeypatch.chdir(half.parent)
    monkeypatch.setattr("parcast.kernels.run.run_ranks", pytest.fail)
    given = {"name": "stencil", "n": N, "seed": SEED, "steps": 20, "restart": half} | asked
    with pytest.raises(ParameterError) as caught:
        package.run_kernel(**given)
    assert str(caught.value).replace(str(half), "HALF").startswith(says)


def test_a_store_that_is_no_checkpoint_is_neither_read_nor_replaced(tmp_path):
    path = other_store(tmp_path / "data.zarr")
    before = (path / "zarr.json").read_bytes()
    with pytest.raises(FileProblems, match="must be a checkpoint of a program of parcast, got an"):
        package.run_kernel("stencil", n=2, restart=path)
    with pytest.raises(
        ParameterError, match=r"which is something else\. Choose another name; noth"
    ):
        package.run_kernel("stencil", n=2, checkpoint=path)
    assert (path / "zarr.json").read_bytes() == before
    with pytest.raises(FileProblems, match="must exist"):
        package.run_kernel("stencil", n=2, restart=tmp_path / "none.zarr")


def test_a_damaged_checkpoint_is_a_damaged_file(parcast, half, capsys):
    """Guards: it ended as a program that did not run, with 4."""
    chunk = next(path for path in half.rglob("*c*0*") if path.is_file())
    content = bytearray(chunk.read_bytes())
    content[40:48] = b"damaged!"
    chunk.write_bytes(content)
    asked = ["stencil", "--seed", str(SEED), "--steps", "20", "--restart", str(half)]
    said = parcast("run", *asked, "-np", "2")
    assert said.status == 3
    assert f"{chunk}: 1 problem" in said.err
    assert "Check the store: parcast arrays verify" in said.err
    assert program.main(asked, Alone()) == 3
    assert "1 problem" in capsys.readouterr().err


def test_the_command_refuses_in_its_own_words(parcast, half, tmp_path):
    asked = ("run", "stencil", "-n", "40", "--seed", "3")
    for more, status, says in (
        (("--steps", "5", "--restart", half), 2, "--steps must be above 13, the step of"),
        (("--seed", "1", "--restart", half), 2, "--seed must be 3, as in the checkpoint"),
        (("--mesh", "2y2"), 2, "--mesh must be two whole numbers of at least 1 with x between"),
        (("--checkpoint-every", "3"), 2, "--checkpoint-every must be left out without --checkp"),
        (("--restart", tmp_path / "none.zarr"), 3, "none.zarr: 1 problem"),
        (("-n", "41", "--restart", half), 2, "-n must be 40, as in the checkpoint"),
    ):
        said = parcast(*asked, *more)
        assert (said.status, said.out) == (status, ""), more
        assert says in said.err
        assert "Traceback" not in said.err


def test_ranks_of_ones_own_refuse_the_same(capsys, half):
    asked = ["stencil", "--seed", "3", "--restart", str(half)]
    assert program.main([*asked, "--steps", "5"], Alone()) == 2
    assert "parcast: steps must be above 13" in capsys.readouterr().err
    assert program.main([*asked, "--steps", "15", "--checkpoint", "x", "-n", "4,5"], Alone()) == 2
    assert "checkpoint must be left out where there are several" in capsys.readouterr().err
    assert program.main([*asked, "--steps", "15"], Alone()) == 0
    assert ",40,1,time_s," in capsys.readouterr().out.replace("disturbed_time", "time_s")


def test_a_mesh_is_read():
    assert mesh_of(" 2 x 3") == (2, 3)
    for text in ("2", "0x2", "2x", "x", "2x2x2"):
        with pytest.raises(ParameterError, match="mesh must be two whole numbers"):
            mesh_of(text)


def test_settled_steps_are_those_of_the_program_by_itself():
    assert KERNEL.settled(Course(mesh=(1, 1)), (5,), seed=0, ranks=1).steps == 20
