"""What fails is told on every rank, with its place and what to do, and nothing is left behind."""

import os
import re
import signal
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FAILING = HERE / "failing.py"

TOLD = {
    "task": r"RunFailed: Item 30 failed.*: 30: ValueError: this item is bad\. Correct it, or skip "
    r'such items with on_error="skip"\.',
    "odd exception": r"RunFailed: Item 30 failed.*: 30: OddError: odd\. Correct it",
    "exit": r"RunFailed: Item 30 failed.*: 30: SystemExit: no more\. Correct it",
    "interrupt": r"RunFailed: Item 30 failed.*: 30: KeyboardInterrupt\. Correct it",
    "own": r"RunFailed: Item 30 failed.*: 30: .*OwnError: own\. Correct it",
    "generator": r"RunFailed: Item 30 failed.*: 30: GeneratorExit: no more\. Correct it",
    "memory": r"RunFailed: Item 30 failed.*: 30: MemoryError\. Correct it",
    "timeout": r"RunFailed: Item \d failed.*: \d: TimeoutError: the task took longer than 0\.2 s",
    "items": r"RunFailed: The items ended with an error after 20: OSError: the disk is gone\. ",
    "no items": r"ParameterError: items must be iterable, got 5\. Give a list, a generator",
    "setup": r"RunFailed: setup\(\) failed.*: ValueError: this one is bad\. Correct it\.",
    "merge": r"RunFailed: The merge of items \d+ to \d+ failed.*: ValueError: this one is bad\.",
    "split": r"RunFailed: split\(\) of the result of item \d failed.*: ValueError: this",
    "wrong split": r"ParameterError: split must give 2 parts, got 1 of the result of item \d\.",
    "finish": r"RunFailed: finish\(\) of items 0 to 49 failed.*: ValueError: this one is bad\.",
    "server": r"RunFailed: server\(\) of items 0 to 4 failed.*: ValueError: this one is bad\.",
    "json": r"RunFailed: Reductions cannot be written to .*out\.jsonl: JSON has no complex\. "
    r"Choose a \.pickle file\.",
    "mean": r"RunFailed: The merge is not associative: of items .* is .* and .* is .*\. Correct ",
    "lock as item": r"RunFailed: Item \d failed.*: <unlocked _thread.lock.*>: TypeError: cannot "
    r"pickle '_thread\.lock' object\. Items and results are sent to other ranks and must be "
    r"picklable: send for example a path in place of an open file, and make in setup= what cannot "
    r"be pickled\. Correct it, or skip such items with on_error=\"skip\"\.$",
    "lock as result": r"RunFailed: The result of items? \d.* cannot be sent on rank \d: "
    r"TypeError: cannot pickle '_thread\.lock' object\. Items and results are sent to other ranks "
    r"and must be picklable: .* what cannot be pickled\.$",
    "odd result": r"RunFailed: The result of items? \d.*, sent by rank \d cannot be unpickled on "
    r"rank \d: ValueError",
    "too many": r"ParameterError: pipelines must be at most \d, the ranks that work, got 9\. ",
    "no folder": r"RunFailed: .*missing/folder cannot be used for the files of the run: no such "
    r"file or directory\. Choose another directory\.",
    "no place": r"ParameterError: missing/trace\.jsonl must be in a folder that exists\. Make it",
    "checkpoint": r"RunFailed: .*file/below cannot be used for the files of the checkpoint: not ",
    "disk": r"RunFailed: A result of .* kB cannot be written to .*: no space left on device\. "
    r"Choose a directory with more space, allow more memory, or use more shards\.",
    "disk of checkpoint": r"RunFailed: The checkpoint cannot be written to .*small: no space left "
    r"on device\. Choose another folder\.",
    "skipped locks": r"PipelineResult\(pipeline: (30|0) items on \d ranks?",
}
AT_ONCE = [kind for kind in TOLD if kind not in ("disk", "disk of checkpoint")]


def told(out, number):
    """Give the messages of the ranks for a run, by its number."""
    texts = re.findall(rf"^@{number} (.*(?:\n(?!@).*)*)", out, re.MULTILINE)
    return [text.strip() for text in texts]


def left_in_temporary(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith("parcast-")]


def test_every_rank_is_told_what_failed_and_another_run_may_follow(ran, tmp_path):
    kinds = [*AT_ONCE, "disk of checkpoint", "disk"]
    (tmp_path / "temporary").mkdir()
    variables = {"TMPDIR": str(tmp_path / "temporary")}
    status, out, err = ran(FAILING, *kinds, ranks=3, **variables)
    assert status == 1
    for number, kind in enumerate(kinds):
        messages = told(out, number)
        assert len(messages) == 3, (kind, messages)
        if kind != "skipped locks":
            assert all(re.match(TOLD[kind], text) for text in messages), (kind, messages)
    assert 'raise ValueError("this item is bad")' in told(out, 0)[0]  # of its traceback
    assert "no space left on device" in err
    assert left_in_temporary(tmp_path / "temporary") == []


def test_a_process_that_started_ranks_is_told_what_failed_and_may_start_others(ran, tmp_path):
    kinds = ["task", "server", "items", "lock as item", "skipped locks", "disk"]
    (tmp_path / "temporary").mkdir()
    status, out, _ = ran(FAILING, *kinds, TMPDIR=str(tmp_path / "temporary"))
    assert status == 1
    for number, kind in enumerate(kinds):
        (message,) = told(out, number)
        assert re.match(TOLD[kind], message), (kind, message)
    assert 'raise ValueError("this item is bad")' in told(out, 0)[0]
    assert left_in_temporary(tmp_path / "temporary") == []


@pytest.mark.fault(
    "Pipelines",
    "An item fails while others are in long tasks.",
    promise="All ranks end within 20 s; the message has the error.",
)
@pytest.mark.parametrize("ranks", [None, 3])
def test_a_failure_ends_ranks_that_are_in_a_long_task(started, gone, ranks):
    begun = time.monotonic()
    process = started(FAILING, "busy", ranks=ranks)
    out, err = process.communicate(timeout=40)
    assert process.returncode != 0
    assert time.monotonic() - begun < 20
    assert "this item is bad" in out
    assert gone(process)
    if ranks is not None:
        assert "was stopped while it worked on item 0: Item " in err


@pytest.mark.fault(
    "Pipelines",
    "A rank is killed, whatever it does at that moment.",
    promise="The run ends; no process is left; where parcast started the ranks, the message "
    "names the rank and its item.",
)
@pytest.mark.parametrize("ranks", [None, 3])
def test_a_rank_that_is_killed_ends_all(started, gone, ranks, tmp_path):
    (tmp_path / "temporary").mkdir()
    process = started(FAILING, "killed", ranks=ranks, TMPDIR=str(tmp_path / "temporary"))
    out, _ = process.communicate(timeout=30)
    assert process.returncode != 0
    assert gone(process)
    if ranks is None:
        (message,) = told(out, 0)
        assert re.match(
            r"RunFailed: Rank \d of pipeline was ended by signal 9 \(Killed\), as happens when "
            r"memory runs out, while it worked on item 30\. All other ranks were stopped\. Use ",
            message,
        )
        assert left_in_temporary(tmp_path / "temporary") == []


ENDED = {
    "exits with 3": r"ended its process with status 3 while it worked on item 2 \('bad item'\)\. "
    r"All other ranks were stopped\. Let tasks return or raise instead of ending the process",
    "exits with 0": r"ended its process with status 0 while it worked on item 2 \('bad item'\)\.",
    "crashes": r"was ended by signal 11 \(Segmentation fault\) while it worked on item 2 "
    r"\('bad item'\)\. All other ranks were stopped\. A library that is used there has crashed",
    "merge ends": r"was ended by signal 15 \(Terminated\) while it worked on the merge of items "
    r"0 to 3\.",
    "setup ends": r"ended its process with status 5 while it worked on setup\(\)\.",
    "finish ends": r"ended its process with status 5 while it worked on finish\(\) of items 0 ",
}


def test_a_rank_that_ends_its_process_is_named_with_what_it_worked_on(started, gone):
    process = started(FAILING, *ENDED)
    out, err = process.communicate(timeout=60)
    for number, (kind, text) in enumerate(ENDED.items()):
        (message,) = told(out, number)
        assert re.match(rf"RunFailed: Rank [01] of pipeline {text}", message), (kind, message)
    assert "in crash\n" in err  # the line of the program
    assert err.count("parcast-refusal: {}\n") == 2  # of a task
    assert "BAD TERMINATION" not in err
    assert gone(process)


LEAVING = """
import subprocess, parcast

def task(item):
    if item == 2:
        subprocess.Popen(["sleep", "60"])
    print("Abort(1) on node", item)
    return item

if __name__ == "__main__":
    print(parcast.run_pipeline(range(5), task, ranks=2).value)
"""


@pytest.mark.fault(
    "Pipelines",
    "A task leaves a process that runs on.",
    promise="The run does not wait for it; on ranks that parcast started it ends with them.",
)
def test_a_process_that_a_task_leaves_is_not_waited_for(started, gone):
    begun = time.monotonic()
    process = started(LEAVING)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "10\n")
    assert time.monotonic() - begun < 20
    assert gone(process)
    assert err.count("Abort(1) on node") == 5  # what mpiexec says as well


EARLY = """
import os, sys
from pathlib import Path
from parcast.mpi.launched import is_first
from parcast.pipeline.engine.desk import watched

watched(Path())
if not is_first():
    {end}
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
"""


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os._exit(3)", "os._exit(0)"])
def test_a_rank_that_ends_before_mpi_is_initialised_ends_all(ran, end):
    status, _, _ = ran(EARLY.format(end=end), ranks=2, limit=30)
    assert status != 0


IDLE = """
import os, signal, time, parcast

def setup():
    from mpi4py import MPI
    pid = os.getpid()
    if MPI.COMM_WORLD.rank == 1 and not os.fork():
        time.sleep(0.5)
        os.kill(pid, signal.SIGKILL)
        os._exit(0)

def items():
    yield from range(9)
    time.sleep(3.0)

try:
    parcast.run_pipeline(items(), lambda item, _: item, setup=setup, ranks=2, batch=1)
except parcast.RunFailed as failure:
    print(failure)
"""


@pytest.mark.fault(
    "Pipelines",
    "A rank is killed, whatever it does at that moment.",
    promise="The run ends; no process is left; where parcast started the ranks, the message "
    "names the rank and its item.",
)
def test_a_rank_that_is_killed_between_tasks_is_named(started):
    out, _ = started(IDLE).communicate(timeout=60)
    assert out.startswith("Rank 1 of pipeline was ended by signal 9 (Killed), as happens when ")
    assert "memory runs out, while it ran no task. All other ranks" in out


@pytest.mark.fault(
    "Pipelines",
    "A rank is killed, whatever it does at that moment.",
    promise="The run ends; no process is left; where parcast started the ranks, the message "
    "names the rank and its item.",
)
def test_a_rank_that_is_killed_is_told_while_the_next_item_is_waited_for(started, gone):
    program = (
        "import os, time, parcast\n"
        "def items():\n"
        "    for i in range(6):\n        time.sleep(0.05)\n        yield i\n"
        "    time.sleep(600)\n"
        "def task(i):\n"
        "    if i == 3:\n        time.sleep(0.4)\n        os.kill(os.getpid(), 9)\n"
        "    return i\n"
        "parcast.run_pipeline(items(), task, ranks=2, batch=1)\n"
    )
    process = started(program)
    _, err = process.communicate(timeout=60)
    assert "was ended by signal 9 (Killed)" in err
    assert "while it worked on item 3" in err
    assert gone(process)


@pytest.mark.fault(
    "Pipelines",
    "A rank is killed, whatever it does at that moment.",
    promise="The run ends; no process is left; where parcast started the ranks, the message "
    "names the rank and its item.",
)
def test_a_rank_that_is_killed_is_told_while_the_server_stage_is_busy(started, gone):
    program = (
        "import os, time, parcast\n"
        "def task(i):\n    return os.getpid()\n"
        "def server(reduction):\n"
        "    os.kill(reduction.value, 9)\n    time.sleep(600)\n"
        "parcast.run_pipeline(range(9), task, ranks=2, batch=1, every=1, server=server)\n"
    )
    process = started(program)
    _, err = process.communicate(timeout=60)
    assert "was ended by signal 9 (Killed)" in err
    assert gone(process)


@pytest.mark.fault(
    "Pipelines", "The process that started the ranks is killed.", promise="All ranks end."
)
def test_ranks_end_with_the_process_that_started_them(started, gone, tmp_path):
    process = started(FAILING, "busy forever")
    end = time.monotonic() + 30
    while not (tmp_path / "ready").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert (tmp_path / "ready").exists()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert gone(process)
