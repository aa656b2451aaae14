"""`run_pipeline` on one process, and what it refuses."""

import asyncio
import json
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import parcast
from parcast.errors import FileProblems, ParameterError, RunFailed
from parcast.mpi.launched import VARIABLES, is_rank, require_one_world
from parcast.signals import Terminated, as_terminations


@pytest.fixture(autouse=True)
def no_rank(monkeypatch):
    """These tests are no ranks, even where they run on one."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_results_are_merged_in_the_order_of_the_items():
    result = parcast.run_pipeline("abcdefg", str.upper, lambda a, b: f"({a}{b})")
    assert result.value == "(((AB)(CD))((EF)G))"
    assert (result.items, result.reductions, result.skipped) == (7, 1, ())
    assert not result.was_stopped
    assert result.is_root


def test_no_items_give_zero_and_one_gives_its_result():
    for merge, zero in (("sum", 0), ("counts", {}), ("sorted", []), ("top:3", []), (max, None)):
        assert parcast.run_pipeline(iter([]), len, merge).value == zero
    nothing = parcast.run_pipeline([], len, zero="nothing")
    assert (nothing.value, nothing.items) == ("nothing", 0)
    assert "warning" in str(nothing)
    assert "There were no items" in str(nothing)
    assert parcast.run_pipeline([], len, zero=None).value is None
    assert parcast.run_pipeline([], len, every=5, server=print).reductions == 0
    first, second = parcast.run_pipeline([], list, "counts", shards=2).value
    first["a"] = 1
    assert second == {}
    one = parcast.run_pipeline(["abc"], len)
    assert (one.value, one.warnings) == (3, ())
    assert parcast.run_pipeline([], dict, "counts").value == {}  # not what was changed above


def test_results_that_a_named_merge_does_not_take_are_said():
    for merge, keys, says in (
        ("counts", {}, r'The merge "counts" takes mappings of numbers, got int: .*items.*Return'),
        ("counts", {"shards": 2}, r'The merge "counts" takes mappings of numbers, got int: '),
        (
            "sorted",
            {},
            r'The merge "sorted" takes arrays or lists of comparable elements, got int: ',
        ),
        ("top:2", {}, r'The merge "top:2" takes lists of numbers, or of tuples .*, got int: '),
        ("sum", {"shards": 2}, r"Sums of type int have no parts for shards=2\. Return arrays"),
    ):
        with pytest.raises(RunFailed, match=says):
            parcast.run_pipeline([1, 2], int, merge, **keys)


def test_reductions_are_served_during_the_run_and_in_order():
    seen = []

    def items():
        for i in range(20):
            yield i, len(seen)

    def task(pair):
        time.sleep(0.005)
        return [pair]

    result = parcast.run_pipeline(items(), task, every=3, batch=1, server=seen.append)
    assert [(x.first, x.stop) for x in seen] == [(i, min(i + 3, 20)) for i in range(0, 20, 3)]
    assert [x[0] for one in seen for x in one.value] == list(range(20))
    assert max(served for one in seen for _, served in one.value) >= 4  # before the items ended
    assert (result.value, result.reductions) == (None, 7)


def test_finish_gets_the_completed_reduction_and_its_shard():
    result = parcast.run_pipeline(range(4), lambda i: i, finish=lambda x: -x)
    assert result.value == -6
    counts = [{"a": 1, "b": 2}, {"a": 3}]
    shards = parcast.run_pipeline(
        counts, dict, "counts", shards=2, finish=lambda part, shard: (shard, part)
    )
    assert [shard for shard, _ in shards.value] == [0, 1]
    assert shards.value[0][1] | shards.value[1][1] == {"a": 4, "b": 2}


def test_finish_of_several_reductions_that_are_merged_later_is_refused():
    with pytest.raises(ParameterError, match="finish must be left out with schedule='source' and"):
        parcast.run_pipeline([1.0, 4.0], float, "sum", finish=str, schedule="source")
    served = []
    keys = {"finish": str, "schedule": "source", "server": lambda x: served.append(x.value)}
    parcast.run_pipeline([1.0, 4.0], float, "sum", **keys)
    assert served == ["1.0", "4.0"]


@pytest.mark.parametrize("keys", [{"on_error": "skip"}, {"retries": 3}, {}])
def test_a_signal_that_ends_the_program_is_no_failure_of_an_item(keys):
    ran = []

    def task(i):
        ran.append(i)
        if i == 1:
            signal.raise_signal(signal.SIGTERM)
        return i

    with pytest.raises(Terminated), as_terminations():
        parcast.run_pipeline(range(3), task, **keys)
    assert ran == [0, 1]


def test_a_signal_that_ends_the_program_says_that_a_checkpoint_is_kept(tmp_path):
    def task(i):
        if i == 8:
            signal.raise_signal(signal.SIGTERM)
        return i

    with pytest.raises(Terminated) as ended, as_terminations():
        parcast.run_pipeline(
            range(9), task, batch=1, checkpoint=tmp_path / "kept", checkpoint_every=0.0
        )
    assert ended.value.__notes__ == ["Its checkpoint is kept: go on with resume=True."]


def test_items_that_fail_are_listed_or_end_the_run():
    result = parcast.run_pipeline(["1", "x", "3"], int, on_error="skip")
    assert result.value == 4
    (skipped,) = result.skipped
    assert (skipped.index, skipped.item) == (1, "'x'")
    assert skipped.error == "ValueError: invalid literal for int() with base 10: 'x'"
    assert "skipped 1" in str(result)
    with pytest.raises(RunFailed, match=r"^Item 1 failed: 'x': ValueError: invalid literal"):
        parcast.run_pipeline(["1", "x", "3"], int)


def test_a_task_has_a_time_limit_and_may_be_tried_again():
    slept = []

    def task(i):
        slept.append(i)
        if len(slept) == 1:
            time.sleep(10)
        return i

    result = parcast.run_pipeline([5], task, timeout=0.1, retries=1)
    assert (result.value, result.retried, slept) == (5, 1, [5, 5])
    assert result.to_document()["retried"] == 1
    assert "retried     1 attempt after a task had failed" in str(result)


def test_a_run_outside_the_main_thread_keeps_no_time_limit_for_tasks():
    found = []

    def run(**keys):
        try:
            found.append(parcast.run_pipeline(range(5), lambda i: i, **keys).value)
        except ParameterError as error:
            found.append(str(error))

    for keys in ({}, {"timeout": 1.0}):
        thread = threading.Thread(target=run, kwargs=keys)
        thread.start()
        thread.join()
    assert found[0] == 10
    assert found[1].startswith("timeout must be None outside the main thread, got 1. Call ")


def test_a_run_fits_into_an_event_loop():
    async def main():
        return parcast.run_pipeline(range(5), lambda i: i).value

    assert asyncio.run(main()) == 10


@pytest.mark.fault(
    "Pipelines",
    "A run with a checkpoint is stopped and resumed.",
    promise="No item is lost or repeated in its results.",
)
@pytest.mark.parametrize("every", [None, 6])
@pytest.mark.parametrize("shards", [1, 2])
def test_an_interrupted_run_repeats_only_what_its_checkpoint_lacks(tmp_path, every, shards):
    ran, broken = [], [True]

    def task(i):
        ran.append(i)
        if i == 30 and broken[0]:
            raise ValueError(i)
        return {f"k{i % 5}": 0.1 * i}

    def run(name):
        return parcast.run_pipeline(
            range(50),
            task,
            "counts",
            every=every,
            shards=shards,
            batch=1,
            server=tmp_path / f"{name}.jsonl",
            checkpoint=tmp_path / "kept",
            checkpoint_every=0.0,
            resume=True,
        )

    with pytest.raises(RunFailed, match=r"Item 30 failed.*\n.*(.*\n)*.*go on with resume=True\."):
        run("a")
    broken[0] = False
    before = len(ran)
    result = run("a")
    again = ran[before:]
    assert result.resumed_items == result.to_document()["resumed_items"] == 50 - len(again)
    assert f"resumed     {50 - len(again)} items of an interrupted run" in str(result)
    assert len(again) <= 25
    assert min(again) > 20
    assert not list((tmp_path / "kept").iterdir())
    whole = run("b")
    assert whole.resumed_items == 0
    assert "resumed" not in str(whole)
    assert result.value == whole.value
    assert result.items == whole.items == 50
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


OTHERS = (
    ({"signature": "b"}, "signature: 'a' before, 'b' now"),
    ({"signature": ""}, "signature: 'a' before, not given now"),
    (
        {"signature": {"signature": "a", "job": "sha256:1"}, "items": range(7)},
        "job: changed; number of items: 50 before, 7 now",
    ),
    (
        {"name": "other", "fan_in": 3},
        "name: 'pipeline' before, 'other' now; fan_in: 2 before, 3 now",
    ),
)


def test_another_run_is_not_resumed(tmp_path):
    def task(i):
        if i > 20:
            raise ValueError(i)
        return i

    keys = {"checkpoint": tmp_path, "checkpoint_every": 0.0, "batch": 1, "resume": True}
    with pytest.raises(RunFailed):
        parcast.run_pipeline(range(50), task, signature="a", **keys)
    for others, told in OTHERS:
        items = others.pop("items", range(50))
        with pytest.raises(ParameterError) as refused:
            parcast.run_pipeline(items, task, **{"signature": "a"} | keys | others)
        assert str(refused.value) == (
            f"checkpoint must be that of the same items and functions, got {tmp_path}, which is "
            f"that of another run ({told}). Give the same, or start without resume=True in "
            "another folder."
        )
    with pytest.raises(
        RunFailed, match=r"There are 7 items, and the interrupted run had taken \d\d"
    ):
        parcast.run_pipeline(iter(range(7)), task, signature="a", **keys)
    (tmp_path / "checkpoint.json").write_text("no JSON")
    with pytest.raises(FileProblems, match="cannot be read"):
        parcast.run_pipeline(range(50), task, signature="a", **keys)
    keys["resume"] = False
    with pytest.raises(ParameterError, match="checkpoint must be a folder without a checkpoint"):
        parcast.run_pipeline(range(5), task, signature="b", **keys)
    (tmp_path / "checkpoint.json").unlink()
    assert parcast.run_pipeline(range(5), task, signature="b", **keys).value == 10
    assert not list(tmp_path.iterdir())


def test_reductions_are_added_to_a_file_of_lines_or_pickles(tmp_path):
    lines, pickles = tmp_path / "out.jsonl", tmp_path / "out.pickle"
    for path in (lines, pickles):
        path.write_bytes(b"of an earlier run\n")
        parcast.run_pipeline(range(5), lambda i: np.array([i]), every=2, server=path)
    assert [json.loads(line) for line in lines.read_text().splitlines()] == [
        {"first": 0, "stop": 2, "value": [1]},
        {"first": 2, "stop": 4, "value": [5]},
        {"first": 4, "stop": 5, "value": [4]},
    ]
    with pickles.open("rb") as stream:
        assert [pickle.load(stream).value.tolist() for _ in range(3)] == [[1], [5], [4]]
    parcast.run_pipeline([], len, every=2, server=lines)
    assert lines.read_bytes() == b""
    parcast.run_pipeline(range(3), lambda i: {i}, lambda a, b: a | b, server=lines)
    assert json.loads(lines.read_text())["value"] == [0, 1, 2]


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"items": 5}, "items must be iterable, got 5."),
        ({"task": 3}, "task must be callable, got 3. Give a function."),
        ({"merge": "summ"}, "merge must be a function of two results, "),
        ({"merge": "top:0"}, "merge must be a function of two results, "),
        ({"setup": 1}, "setup must be callable, got 1."),
        ({"fan_in": 1}, "fan_in must be a whole number of at least 2, got 1."),
        ({"shards": 2, "merge": "sorted"}, "split must be given where shards is above 1."),
        ({"every": 0}, "every must be a whole number of at least 1, got 0."),
        ({"batch": "big"}, "batch must be a number, got 'big'."),
        ({"window": -1}, "window must be a whole number of at least 1, got -1."),
        ({"on_error": "ignore"}, 'on_error must be "raise" or "skip", got \'ignore\'.'),
        ({"schedule": "fast"}, 'schedule must be "adaptive" or "source"'),
        ({"retries": -1}, "retries must be a whole number of at least 0, got -1."),
        ({"timeout": 0}, "timeout must be above 0, got 0"),
        ({"memory": -5}, "memory must be above 0, got -5"),
        ({"checkpoint_every": -1}, "checkpoint_every must be at least 0, got -1"),
        ({"ranks": 0}, "ranks must be a whole number of at least 1, got 0."),
        ({"ranks": 2, "time_limit": 0}, "time_limit must be above 0, got 0"),
        ({"pipelines": 2}, "pipelines must be at most 1, the ranks that work, got 2."),
        ({"server": "out.txt"}, "server must be a function, or a file that ends in .jsonl or"),
        ({"server": 7}, "server must be a function, or a file that ends in .jsonl or .pickle, g"),
        ({"server": "no/folder.jsonl"}, "no/folder.jsonl must be in a folder that exists."),
        ({"every": 2}, "server must be given with every. It gets the reductions, of which none"),
        ({"trace": "t.txt"}, "trace must end in .jsonl or .jsonl.gz, got t.txt."),
        ({"server_rank": 0, "server": print}, "server_rank must be None on one rank"),
        ({"comm": "world"}, "comm must be an Intracomm, got str."),
        ({"resume": True}, "resume must be given with checkpoint. Name the folder with the check"),
        ({"time_limit": 0}, "time_limit must be above 0, got 0"),
        ({"trace": "no/trace.jsonl"}, "no/trace.jsonl must be in a folder that exists."),
    ],
)
def test_bad_arguments_are_refused_with_what_to_do(keys, says):
    with pytest.raises(ParameterError) as caught:
        parcast.run_pipeline(**({"items": [1, 2], "task": abs} | keys))
    assert str(caught.value).startswith(says)


def test_a_server_file_that_lost_reductions_is_not_gone_on_with(tmp_path, file):
    from parcast.pipeline.serving import file_server

    path = file('{"a": 1}\n{"a": 2}\n{"cut', "out.jsonl")
    file_server(path).resume(2)
    assert path.read_text() == '{"a": 1}\n{"a": 2}\n'
    with pytest.raises(RunFailed, match="has 2 reductions in place of the 3 that the interrupted"):
        file_server(path).resume(3)
    pickled = file_server(tmp_path / "out.pickle")
    with pytest.raises(RunFailed, match="has 0 reductions in place of the 1"):
        pickled.resume(1)


def test_ranks_are_known_by_what_started_them(monkeypatch):
    assert not is_rank()
    for name in VARIABLES:
        monkeypatch.setenv(name, "0")
        assert is_rank()
        monkeypatch.delenv(name)
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "1")
    assert not is_rank()  # the step of a batch script
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    assert is_rank()
    require_one_world(4)
    with pytest.raises(
        RunFailed, match=r"srun has started 4 tasks, but MPI connects none of them"
    ):
        require_one_world(1)


@pytest.mark.parametrize("name", ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS"])
def test_ranks_of_the_mpiexec_of_another_mpi_are_refused(monkeypatch, name):
    monkeypatch.setenv(name, "1")
    require_one_world(1)
    monkeypatch.setenv(name, "4")
    require_one_world(4)
    with pytest.raises(RunFailed) as refused:
        require_one_world(1, library="Open MPI 4.1.4")
    assert str(refused.value).startswith(
        "mpiexec has started 4 processes, but MPI connects none of them: mpiexec belongs to "
        "another MPI than mpi4py (Open MPI 4.1.4). Start them with the mpiexec of that MPI"
    )


def test_one_process_needs_no_mpi():
    program = (
        "import sys; sys.modules['mpi4py'] = None; sys.modules['cloudpickle'] = None\n"
        "import parcast; print(parcast.run_pipeline(range(9), abs).value)"
    )
    env = {"PYTHONPATH": str(Path(parcast.__file__).parents[1])}
    said = subprocess.check_output([sys.executable, "-c", program], env=env, text=True)
    assert said == "36\n"


def test_a_trace_that_the_disk_does_not_take_costs_no_value(tmp_path):
    trace = tmp_path / "full.jsonl"
    trace.symlink_to("/dev/full")
    result = parcast.run_pipeline(range(5), abs, trace=trace)
    assert result.value == 10
    assert result.warnings == (
        f"The trace cannot be written to {trace}: no space left on device.",
    )
