"""Commands that a signal ends: what is left of them, and their status."""

import signal
from pathlib import Path

import pytest

from parcast.mpi.leftovers import processes_of
from tests.conftest import ROOT, until

MAIN = """
import signal, sys, time
from pathlib import Path
from parcast.cli import main
from parcast.files import document

def slow_pieces(_):
    yield "half"
    Path("begun").touch()
    time.sleep(600)

if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as it is without nohup
    if "-o" in sys.argv:
        document.csv_pieces = slow_pieces
    main()
"""
BTIO = ROOT / "examples" / "btio"


def drafts(folder):
    """Files of a folder that are being written."""
    return list(folder.glob(".parcast-*"))


@pytest.fixture
def writing(started, times, tmp_path):
    """Start a command, and wait until it writes its answer."""
    process = started(MAIN, "forecast", times, "-p", "16", "-o", "answer.csv")
    until((tmp_path / "begun").exists)
    assert len(drafts(tmp_path)) == 1
    return process


@pytest.mark.fault(
    "Signals",
    "SIGTERM or SIGHUP while a file is written.",
    promise="Status 143 or 129; what was there before stays; no draft is left.",
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_draft_of_an_output(writing, tmp_path, number):
    """SIGTERM and SIGHUP left a file `.parcast-*.tmp` beside each output."""
    writing.send_signal(number)
    out, err = writing.communicate(timeout=30)
    assert (writing.returncode, out) == (128 + number, "")
    assert err.splitlines()[-1] == f"parcast: ended by {number.name}."
    assert not drafts(tmp_path)
    assert not (tmp_path / "answer.csv").exists()


@pytest.mark.fault(
    "Signals",
    "SIGKILL while a file is written.",
    promise="What was there before stays; the next command that writes there removes the draft.",
)
def test_the_draft_of_a_killed_command_is_removed_by_the_next_one(
    writing, parcast, times, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    foreign = tmp_path / ".parcast-of-another-host.tmp"
    foreign.touch()
    [draft] = set(drafts(tmp_path)) - {foreign}
    assert parcast("forecast", times, "-p", "16", "-o", "other.csv").status == 0
    assert draft.exists(), "it is being written"
    writing.kill()
    writing.wait(30)
    assert draft.exists()
    assert parcast("forecast", times, "-p", "16", "-o", "answer.csv").status == 0
    assert drafts(tmp_path) == [foreign]


def at_work(process):
    """Processes of a command that have loaded numpy, which the workers do when they begin."""
    found = 0
    for number in processes_of(process.token):
        try:
            found += "_multiarray_umath" in Path(f"/proc/{number}/maps").read_text()
        except OSError:  # it has ended
            continue
    return found


@pytest.mark.fault(
    "Signals",
    "SIGTERM or SIGKILL during a simulation in several processes.",
    promise="All of them end.",
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_the_command_that_started_them(started, gone, number):
    """Both workers of `--jobs 2` went on at full load."""
    files = [BTIO / "program.toml", BTIO / "sp2.toml"]
    asked = ["-p", "256,512", "--precision", "0.0001%", "--jobs", "2"]
    process = started(MAIN, "simulate", *files, *asked)
    until(lambda: at_work(process) == 3)
    process.send_signal(number)
    assert process.wait(30) == (143 if number == signal.SIGTERM else -number)
    assert gone(process)
