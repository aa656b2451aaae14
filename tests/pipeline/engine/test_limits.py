"""Limits of time: of a run, on any number of ranks, and of the task of an item."""

import itertools
import re
import signal
import threading
import time
from types import SimpleNamespace

import pytest

import parcast
from parcast.errors import RunFailed
from parcast.mpi.launched import VARIABLES
from parcast.pipeline.engine import limits
from parcast.pipeline.engine.limits import Alarm, Limit, TimeUp, Turn

TOLD = "pipeline did not end within 0.15 s and was stopped. "
ADVICE = "Allow more with time_limit, or give it less work."


@pytest.fixture(autouse=True)
def no_rank(monkeypatch):
    """These tests are no ranks, even where they run on one."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def failure(*args, **keys):
    """Give what a run with a limit fails with, long before it would end."""
    begun = time.monotonic()
    with pytest.raises(RunFailed) as caught:
        parcast.run_pipeline(*args, time_limit=0.15, **keys)
    assert time.monotonic() - begun < 30
    return str(caught.value)


def sleeping(item):
    if item == 3:
        time.sleep(60)
    return item


def waiting():
    yield 1
    time.sleep(60)


def test_a_task_that_is_too_long_for_the_run_is_ended_on_one_process():
    said = failure(range(9), sleeping, batch=1)
    assert said == f"{TOLD}It was working on item 3. {ADVICE}"


def test_items_and_functions_that_take_too_long_are_ended_on_one_process():
    assert failure(waiting(), abs) == TOLD + ADVICE
    said = failure(range(9), sleeping, setup=lambda: time.sleep(60))
    assert said == f"{TOLD}It was working on setup(). {ADVICE}"
    slow = {"server": lambda _: time.sleep(60), "finish": lambda _: time.sleep(60)}
    for name, function in slow.items():
        said = failure(range(9), abs, **{name: function})
        assert said == f"{TOLD}It was working on {name}() of items 0 to 8. {ADVICE}"
    assert failure(itertools.count(), lambda i: time.sleep(0.01) or i).startswith(TOLD)


def test_no_task_takes_the_end_of_a_run_for_its_own():
    tries = []

    def stubborn(_):
        while True:
            tries.append(1)
            try:
                time.sleep(60)
            except BaseException:
                if len(tries) == 2:
                    raise

    assert failure([1], stubborn, retries=5, on_error="skip").startswith(TOLD)
    assert len(tries) == 2

    def careless(_):
        try:
            time.sleep(60)
        except Exception:
            return 0

    assert failure([1], careless, timeout=20.0, retries=5).startswith(TOLD)


def test_a_limit_holds_between_items_outside_the_main_thread():
    found = []

    def run():
        found.append(failure(itertools.count(), lambda i: time.sleep(0.01) or i))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found[0].startswith(f"{TOLD}It was working on item ")


def test_a_checkpoint_is_kept_at_the_limit(tmp_path):
    keys = {"checkpoint": tmp_path, "checkpoint_every": 0.0, "batch": 1}
    said = failure(range(9), sleeping, **keys)
    assert said.endswith("Its checkpoint is kept: go on with resume=True.")
    result = parcast.run_pipeline(range(9), abs, resume=True, **keys)
    assert (result.value, result.items) == (36, 9)
    assert result.resumed_items > 0


def test_the_timer_of_a_program_goes_on_after_a_run():
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 60.0)
        assert parcast.run_pipeline(range(3), abs, time_limit=9.0, timeout=5.0).value == 3
        assert 0 < signal.setitimer(signal.ITIMER_REAL, 0.01)[0] <= 60.0
        time.sleep(0.1)
        assert rung
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_limit_that_is_reached_at_the_end_of_a_run_leaves_no_alarm(monkeypatch):
    before = signal.getsignal(signal.SIGALRM)
    stop = Alarm.stop

    def late(alarm):
        alarm._limit.end = 0.0
        alarm._ring(signal.SIGALRM, SimpleNamespace(f_globals=vars(limits)))
        stop(alarm)

    monkeypatch.setattr(Alarm, "stop", late)
    with Alarm(Limit(60.0, "x"), Turn(may_be_interrupted=True)):
        pass
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0


def test_nothing_is_interrupted_while_the_main_thread_has_its_turn():
    turn = Turn(may_be_interrupted=True)
    seen = []

    def work():
        with Alarm(Limit(0.05, "x"), turn):
            with turn:
                end = time.monotonic() + 0.3
                while time.monotonic() < end:
                    time.sleep(0.01)
                seen.append(turn.is_open)
            time.sleep(60)

    with pytest.raises(TimeUp):
        work()
    assert seen == [False]


def test_a_traceback_of_an_item_that_took_too_long_has_no_frame_of_the_engine():
    result = parcast.run_pipeline([1], lambda _: time.sleep(60), timeout=0.1, on_error="skip")
    (skipped,) = result.skipped
    assert skipped.error == "TimeoutError: the task took longer than 0.1 s"
    frames = re.findall(r'File "(.*)", line', skipped.traceback)
    assert frames == [__file__]


LIMITED = """
import os, sys, time
import parcast
from mpi4py import MPI

rank = MPI.COMM_WORLD.rank
begun = time.monotonic()


def task(item):
    if item == 3:
        time.sleep(60)
    return item


def items():
    yield 1
    time.sleep(60)


for name, source in (("task", range(9)), ("items", items())):
    try:
        parcast.run_pipeline(source, task, batch=1, time_limit=0.5)
    except parcast.RunFailed as failure:
        late = "LATE " if time.monotonic() - begun > 30 else ""
        sys.stdout.write(f"{late}{name}: {failure}\\n")
        sys.stdout.flush()
"""


def test_every_rank_is_told_that_the_time_is_up_and_another_run_may_follow(ran):
    status, out, err = ran(LIMITED, ranks=3)
    assert (status, err) == (0, "")
    begin = "pipeline did not end within 0.5 s and was stopped. "
    lines = out.splitlines()
    assert len(lines) == 6
    task = re.compile(rf"task: {begin}It was working on item 3 on rank \d\. {ADVICE}")
    assert all(task.fullmatch(line) for line in lines if line.startswith("task"))
    assert lines.count(f"items: {begin}{ADVICE}") == 3


BLOCKED = """
import signal, time
import parcast
from parcast.pipeline.engine import rank

rank.GRACE = 0.3

def task(item):
    if item == 3:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        time.sleep(60)
    return item

parcast.run_pipeline(range(9), task, batch=1, time_limit=0.5)
"""


@pytest.mark.fault(
    "Pipelines",
    "A task hangs where nothing interrupts it.",
    promise="All ranks end at the time limit; the message names the item.",
)
def test_ranks_end_at_the_limit_though_one_is_in_a_task_that_nothing_interrupts(started, gone):
    begun = time.monotonic()
    process = started(BLOCKED, ranks=2)
    _, err = process.communicate(timeout=40)
    assert process.returncode != 0
    assert time.monotonic() - begun < 30
    assert re.search(r"parcast: rank \d was stopped while it worked on item 3: pipeline did", err)
    assert gone(process)
