"""`parcast simulate`: what it answers, in every form, what it refuses, and with which status."""

import re
import signal
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool

import click
import pytest

from parcast.descriptions.toml_files import read_machine, read_program
from parcast.simulation.simulate import simulate
from parcast.simulation.workers import workers
from tests.conftest import FOREGROUND, ROOT, until
from tests.forecasting.test_command import document
from tests.written import written

PROGRAM = ROOT / "examples" / "btio" / "program.toml"
MACHINE = ROOT / "examples" / "btio" / "sp2.toml"
BOTH = ("simulate", PROGRAM, MACHINE)
QUESTION = (*BOTH, "-p", "4,16", "-d", "3")


def test_the_answer_is_that_of_the_function(parcast):
    told = simulate(
        read_program(PROGRAM),
        read_machine(MACHINE),
        p=[1, 4],
        d=[1, 2],
        vary={"network.latency": [1e-6, 2e-6]},
        precision=0.05,
        seed=7,
    )
    said = parcast(
        *BOTH, "-p", "1,4", "-d", "1,2", "--vary", "network.latency=1..2 us",
        "--precision", "5%", "--seed", "7", "--json",
    )  # fmt: skip
    assert (said.status, said.err) == (0, "")
    answered = document(said)
    inputs = answered.pop("inputs")
    expected = written(told.to_document())
    del expected["inputs"]
    assert answered == expected
    assert inputs["program"]["file"] == str(PROGRAM)
    assert inputs["options"] == {
        "p": "1,4",
        "d": "1,2",
        "n": None,
        "vary": ["network.latency=1..2 us"],
        "precision": 0.05,
        "time_limit": None,
        "seed": 7,
        "jobs": 1,
    }


def test_many_points_are_told_on_stderr(parcast):
    asked = (*BOTH, "-p", "1..61", "--precision", "50%")
    said = parcast(*asked)
    assert said.err == (
        "parcast: 60 of 61 points are shown. All of them: --all, --json or -o all.csv.\n"
    )
    assert parcast(*asked, "--all").err == ""


def test_distributions_of_times_are_given_by_word_number_and_file(parcast, file):
    measured = file("# of one processor, in seconds\n1.38\n\n1.41\n2.21\n", "bursts.txt")
    said = parcast(
        *QUESTION, "--times", f"compute={measured}", "--times", "io=none", "--times",
        "communication=0.5", "--json", "--seed", "3",
    )  # fmt: skip
    assert (said.status, said.err) == (0, "")
    answered = document(said)
    laws = {"compute": [1.38, 1.41, 2.21], "io": "none", "communication": 0.5}
    program, machine = read_program(PROGRAM), read_machine(MACHINE)
    told = simulate(program, machine, p=[4, 16], d=[3], laws=laws, seed=3)
    assert [row["time_s"] for row in answered["rows"]] == told.time.ravel().tolist()
    assert answered["inputs"]["options"]["times"] == {
        "compute": str(measured), "io": "none", "communication": "0.5",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        ("compute", 2, "--times must be a part and its distribution"),
        ("disk=none", 4, "--times must name compute, communication, io, got 'disk'."),
        ("io=-1", 4, "--times io must be a cv in [0, 100], got -1."),
        ("io=FILE", 3, "must be a time of at least 0, got '-2'. Write one number on each line."),
        ("io=EMPTY", 3, "must have times above 0. Write one on each line."),
    ],
)
def test_distributions_that_are_none_are_refused(parcast, tmp_path, text, status, says):
    (tmp_path / "FILE").write_text("1\n-2\n3\n")
    (tmp_path / "EMPTY").write_text("# no times\n0\n")
    part, equals, law = text.partition("=")
    if law in {"FILE", "EMPTY"}:
        law = tmp_path / law
    said = parcast(*QUESTION, "--times", f"{part}{equals}{law}")
    assert (said.status, said.out) == (status, "")
    assert says in said.err


@pytest.mark.fault(
    "Signals",
    "Ctrl-C during a simulation, in one process or several.",
    promise="Status 130 and nothing on standard output.",
)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_ends_it_with_130_and_prints_nothing(jobs, tmp_path):
    begun = tmp_path / "begun"
    code = f"""{FOREGROUND}
from pathlib import Path
from parcast.cli import main
from parcast.simulation import simulate as module

def simulate(*args, simulated=module.simulate, **keys):
    Path({str(begun)!r}).touch()
    return simulated(*args, **keys)

module.simulate = simulate
main()"""
    asked = [*map(str, BOTH), "-p", "256,512", "--precision", "0.0001%", "--jobs", jobs]
    running = subprocess.Popen(
        [sys.executable, "-c", code, *asked], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    until(begun.exists)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert out == b""
    assert err.decode().strip() == "parcast: interrupted."


@pytest.mark.parametrize("targets", ["[os.getpid()]", "[made, os.getpid()]"])
def test_an_interrupt_while_processes_are_started_is_as_quiet(targets, interrupted_while_starting):
    status, out, err = interrupted_while_starting(targets)
    assert (status, out, err.strip()) == (130, "", "parcast: interrupted.")


def test_an_interrupt_counts_where_a_process_cannot_be_started(interrupted_while_starting):
    status, out, err = interrupted_while_starting("[os.getpid()]", "None")
    assert (status, out, err.strip()) == (130, "", "parcast: interrupted.")


def test_what_is_ignored_under_nohup_is_ignored_by_processes_too():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with workers(2) as executor:
            assert executor.submit(signal.getsignal, signal.SIGHUP).result() == signal.SIG_IGN
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.fixture
def interrupted_while_starting():
    """Simulate in two processes; the first begins to start when processes get the signal."""

    def run(targets, start="plain(*args)"):
        code = f"""{FOREGROUND}
import os
from multiprocessing import util
from parcast.cli import main

def started(*args, plain=util.spawnv_passfds):
    made = {start}
    util.spawnv_passfds = plain
    for each in {targets}:
        os.kill(each, signal.SIGINT)
    if made is None:
        raise BlockingIOError(11, "no more processes")
    return made

from multiprocessing import popen_spawn_posix, resource_tracker
resource_tracker.ensure_running()
util.spawnv_passfds = started
main()"""
        asked = [*map(str, BOTH), "-p", "256", "--jobs", "2"]
        done = subprocess.run(
            [sys.executable, "-c", code, *asked],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return run


def test_workers_are_ended_when_something_fails():
    with pytest.raises(ValueError, match="invalid literal"), workers(2) as executor:
        executor.submit(int, "x").result()
    with pytest.raises(click.ClickException, match="a process of jobs ended early"), workers(2):
        raise BrokenProcessPool


def test_a_time_limit_is_kept_and_told(parcast):
    said = parcast(*QUESTION, "--precision", "0.0001%", "--time-limit", "10ms")
    assert said.status == 0
    assert re.search(r"The time limit was reached\s+before", said.out)
