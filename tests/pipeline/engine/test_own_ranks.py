"""Runs that start their ranks themselves."""

import re
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAM = HERE / "own_ranks.py"
CASES = re.findall(r"^        (\w+),$", PROGRAM.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.usefixtures("uncovered")  # runs of test_bursts start ranks likewise
def test_a_script_starts_ranks_in_many_ways_and_leaves_nothing(started, gone, tmp_path):
    folder = tmp_path / ("long" * 30)  # a socket could have no name there
    folder.mkdir()
    process = started(PROGRAM, TMPDIR=str(folder))
    out, err = process.communicate(timeout=150)
    assert process.returncode == 0, err
    assert out.split() == CASES[-9:]
    assert sorted(re.findall(r"said by \d", err)) == [f"said by {i}" for i in range(4)]
    assert err.count("warned") == 4
    assert [path.name for path in folder.iterdir() if "parcast" in path.name] == []
    assert gone(process)


def test_a_script_without_standard_streams_starts_ranks(started, tmp_path):
    program = (
        "import os, sys\n"
        "os.closerange(0, 3)\n"
        "import parcast\n"
        "value = parcast.run_pipeline(range(9), abs, ranks=2).value\n"
        "open('out.txt', 'w').write(str(value))\n"
    )
    process = started(program)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert (tmp_path / "out.txt").read_text() == "36"


def test_lines_of_several_ranks_are_not_mixed_where_python_does_not_buffer_them(started):
    program = (
        "import parcast\n"
        "def task(i):\n    print('item', i, 'was here')\n    return 1\n"
        "parcast.run_pipeline(range(300), task, ranks=2, batch=1)\n"
    )
    _, err = started(program, PYTHONUNBUFFERED="1").communicate(timeout=60)
    assert sorted(err.splitlines()) == sorted(f"item {i} was here" for i in range(300))


PRINTING = """
import os, parcast

def task(item):
    if item == 2:
        print("=" * 80, "", "said", "", sep="\\n", flush=True)
    return %s

try:
    print(parcast.run_pipeline(range(3), task, ranks=2).value)
except parcast.RunFailed as failure:
    print(failure)
"""


def test_what_mpiexec_says_of_a_failure_that_is_explained_is_left_out(started):
    """What tasks print is passed on, whatever it looks like."""
    out, err = started(PRINTING % "item").communicate(timeout=60)
    assert (out, err) == ("3\n", "=" * 80 + "\n\nsaid\n\n")
    out, err = started(PRINTING % "1 // (1 - item)").communicate(timeout=60)
    assert out.startswith("Item 1 failed on rank ")
    assert "Abort" not in err
    out, err = started(PRINTING % "os.kill(os.getpid(), 9)").communicate(timeout=60)
    assert "was ended by signal 9 (Killed)" in out
    assert err in ("", "=" * 80 + "\n\nsaid\n\n")


def test_what_ranks_say_last_is_not_lost_where_nobody_reads_it_at_once(started):
    program = (
        "import atexit, parcast\n"
        "def say():\n    for i in range(3000):\n        print('line', i, 60 * 'x')\n"
        "def task(i):\n    if i == 9:\n        atexit.register(say)\n    return 1\n"
        "parcast.run_pipeline(range(10), task, ranks=2)\n"
    )
    process = started(program)
    time.sleep(1.0)
    err = ""
    while more := process.stderr.read(4096):
        err += more
        time.sleep(0.01)
    assert [int(line.split()[1]) for line in err.splitlines()] == list(range(3000))
