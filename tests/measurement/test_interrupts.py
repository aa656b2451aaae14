"""Interrupts of `parcast measure`, at moments that its table tells (benchmarks/: random ones)."""

import random
import signal
import time

import pytest

from benchmarks.measure_interrupts import PROGRAMS, full_disk, interrupted, rows


def until_two_are_kept(folder):
    while len(rows(folder / "times.csv")) < 2:
        time.sleep(0.01)


@pytest.mark.fault(
    "Signals",
    "SIGINT, SIGTERM or SIGKILL during `parcast measure`, also to its group.",
    promise="Finished runs are in the table; `--resume` repeats none; nothing is left running.",
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])  # SIGTERM: test_measure
def test_no_finished_run_is_lost_or_repeated_and_nothing_is_left_running(tmp_path, number):
    text = PROGRAMS["own session"]
    told = interrupted(tmp_path, text, number, until_two_are_kept, is_group=True)
    assert told["faults"] == []
    assert told["kept"] >= 2


@pytest.mark.fault(
    "Output files",
    "The disk of the table is full during `parcast measure`.",
    promise="Status 2, and how many runs are in it: all that have ended; `--resume` goes on.",
)
def test_no_finished_run_is_lost_where_the_disk_is_full():
    faults = full_disk(random.Random(0))
    if faults and faults[0].startswith("not tried"):
        pytest.skip(faults[0])
    assert faults == []
