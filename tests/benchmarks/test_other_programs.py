"""`benchmarks/other_programs.py` as a person runs it: the tables, or one message and a status."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERIAL = {"fast": 0.02, "slow: GCC": 0.1, "slow: Intel": 0.12, "new": 0.3}
WORK = {"heat": 10.0, "waves": 20.0, "grid": 40.0}


def other_programs(folder):
    program = [sys.executable, ROOT / "benchmarks" / "other_programs.py", folder]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_a_machine_on_which_all_programs_scale_alike_is_known_from_the_others(tmp_path):
    rows = [
        f"{program},{machine},{p},{work * (serial + (1 - serial) / p)}"
        for program, work in WORK.items()
        for machine, serial in SERIAL.items()
        for p in (1, 2, 4)
    ]
    (tmp_path / "codes.csv").write_text("\n".join(["callpath,machine,p,time_s", *rows]))
    said = other_programs(tmp_path)
    assert (said.returncode, said.stderr) == (0, "")
    from_one = {line[:14].strip(): line[14:].split()[0] for line in said.stdout.splitlines()[1:7]}
    assert from_one["own runs"] == "-"
    error = {name: float(x.rstrip("%")) for name, x in from_one.items() if x != "-"}
    assert error["beside them"] < 0.8 * error["donors"]
    assert error["regressed"] < 0.8 * error["donors"]
    assert "codes.csv" in said.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        (None, 4, "parcast: Nothing to score: no program has two donors"),
        ("p,time_s\n1,8\n2,5\n", 4, "times.csv has no columns machine and callpath: add them."),
        ("p,time_s\n1,fast\n", 3, "line 2  time_s  must be a time above 0, got"),
    ],
)
def test_what_cannot_be_scored_is_told_in_one_message(tmp_path, text, status, says):
    if text is not None:
        (tmp_path / "times.csv").write_text(text)
    said = other_programs(tmp_path)
    assert (said.returncode, said.stdout) == (status, "")
    assert says in said.stderr
    assert "Traceback" not in said.stderr
