"""`parcast.needs`: extras are those of pyproject.toml, and other systems are refused by name."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from parcast import needs
from parcast.cli import first
from parcast.errors import RunFailed
from parcast.needs import EXTRAS, install, require_unix

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ASKED = PROJECT["optional-dependencies"]
TIMES, BTIO = ROOT / "examples/nas_bt/times.csv", ROOT / "examples/btio"
LIBRARIES = {"mpich"}  # that nothing imports


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_each_extra_of_the_project_is_known_with_its_packages():
    assert set(ASKED) == {*EXTRAS, "all"}
    homes = packages_distributions()
    for name, extra in EXTRAS.items():
        asked = {canonical(re.split(r"[<>=; ]", x)[0]) for x in ASKED[name]} - LIBRARIES
        known = {canonical(y) for x in extra.packages for y in homes.get(x, [])}
        assert known <= asked
        assert len(asked) == len(extra.packages)


def test_all_is_all_extras():
    assert ASKED["all"] == [f"parcast[{','.join(x for x in ASKED if x != 'all')}]"]


def test_every_message_names_an_extra_that_there_is():
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"parcast\[(\w+)\]", text)) <= {*EXTRAS}, path
        if path.name != "needs.py":
            assert "pip install 'parcast" not in text
    with pytest.raises(KeyError):
        install("everything")


def test_what_needs_a_unix_is_refused_elsewhere(monkeypatch):
    require_unix("This needs", is_linux=True)
    monkeypatch.setattr(sys, "platform", "darwin")
    require_unix("This needs")
    with pytest.raises(RunFailed, match=r"This needs Linux, but this is darwin\. Run it in"):
        require_unix("This needs", is_linux=True)
    monkeypatch.delattr(os, "fork")
    with pytest.raises(RunFailed, match=r"This needs Linux, macOS or another Unix, but"):
        require_unix("This needs")


MEASURED = [
    ["measure", "-p", "1,2", "-o", "measured.csv", "--", sys.executable, "-c", "print({p})"],
    ["run", "stencil", "-np", "2"],
    ["calibrate", "-o", "here.toml"],
    ["validate", "stencil"],
    ["validate", "pipeline"],
    ["validate", "array-io"],
    ["record", "--", sys.executable],
    ["testbed", "--", sys.executable],
    ["arrays", "verify", "u.zarr"],
]
ANSWERED = [
    ["forecast", TIMES, "-p", "256", "-o", "f.html"],
    ["forecast", TIMES, "-p", "256", "-o", "f.svg"],
    ["predict", BTIO / "program.toml", BTIO / "sp2.toml", "-p", "1,4,16"],
    ["simulate", BTIO / "program.toml", BTIO / "sp2.toml", "-p", "4"],
    ["plan", TIMES, "--select", "machine=mesh", "--within", "3s"],
    ["explain", TIMES, "--select", "machine=mesh"],
    ["match", TIMES, "-p", "64"],
    ["report", TIMES, "-o", "r.html"],
    ["init", "machine", "--from-here", "-o", "here.toml"],
    ["explain", "pipeline", "-np", "4"],
    ["import", ROOT / "examples/imports/weather.txt"],
    ["demo"],
]


def on(system, calls, folder):
    """Run command lines on a system that is imitated, with nothing on the path."""
    lines = "\n".join(json.dumps([str(x) for x in call]) for call in calls)
    command = [sys.executable, Path(__file__).with_name("imitated.py"), system]
    variables = os.environ | {"PATH": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        command, input=lines, env=variables, cwd=folder, capture_output=True, text=True, check=True
    )
    answers = [json.loads(x) for x in done.stdout.splitlines()]
    return dict(zip(map(str, calls), answers, strict=True))


HERE = r"needs Linux.*, but this is (win32|darwin)\. Run it in a virtual machine"
NO_MPI = r'needs mpi4py.*pip install "parcast\[mpi\]"'


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_another_system_gives_answers_and_refuses_what_cannot_run_by_name(system, tmp_path):
    is_unix = system == "darwin"
    answered = [*ANSWERED, *(MEASURED[:1] if is_unix else [])]
    refused = MEASURED[1:-1] if is_unix else MEASURED
    got = on(system, [*answered, *refused], tmp_path)
    for call in map(str, answered):
        status, _, err = got[call]
        assert status == 0, err
    for call in map(str, refused):
        status, out, err = got[call]
        assert status == 4, (call, err)
        assert re.search(f"{HERE}|{NO_MPI}" if is_unix else HERE, err), (call, err)
        assert "Traceback" not in out + err
    made = {"f.html", "f.svg", "r.html", "here.toml", *(["measured.csv"] if is_unix else [])}
    assert {x.name for x in tmp_path.iterdir()} == made


def test_parcast_alone_says_which_extras_are_missing_and_what_for(monkeypatch):
    monkeypatch.setattr(needs, "missing_extras", lambda: iter(["plot"]))
    assert 'pip install "parcast[plot]"' in first()
    assert EXTRAS["plot"].purpose in first()
    monkeypatch.setattr(needs, "missing_extras", lambda: iter([]))
    assert "pip install" not in first()
