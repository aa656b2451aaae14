"""Runs that start their ranks themselves."""

import re
from pathlib import Path

HERE = Path(__file__).parent
PROGRAM = HERE / "own_ranks.py"
CASES = re.findall(r"^        (\w+),$", PROGRAM.read_text(encoding="utf-8"), re.MULTILINE)


def test_a_script_starts_ranks_in_many_ways_and_leaves_nothing(started, gone, tmp_path):
    folder = tmp_path / ("long" * 30)  # a socket could have no name there
    folder.mkdir()
    process = started(PROGRAM, TMPDIR=str(folder))
    out, err = process.communicate(timeout=150)
    assert process.returncode == 0, err
    assert out.split() == CASES[-11:]
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
