"""Laws of other packages: found, used by the commands, and passed over where they are broken."""

import re
import warnings
from pathlib import Path

import click
import numpy as np
import pytest

from parcast.cli.failures import run
from parcast.descriptions.breakdown import Breakdown
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import LAWS, Program, law_named, laws
from parcast.errors import ParameterError
from parcast.fitting.fit import fit
from parcast.places import PluginFaultError, PluginWarning
from parcast.prediction.predict import predict
from parcast.timings.measurements import Measurements
from tests.installed import PLUGINS, installed, parcast

HOW_TO = Path(__file__).parents[1] / "docs" / "howto" / "add-a-law.md"
FARM = {"law": "farm", "tasks": 1000, "task": "2 s", "dealing": "50 ms"}
LAW = "a class derived from Phase with a cycle, whose law is a literal of its name"
BROKEN = """[parcast.laws]
absent = parcast_absent:Law
ends = parcast_ends:Law
odd = math
other = parcast_demo.farm:FarmPhase
root = math:sqrt
sort = parcast_demo.farm:FarmPhase
"""


@pytest.fixture
def broken(monkeypatch, tmp_path):
    """A package all of whose laws are broken."""
    ends = "raise SystemExit('no licence\\nat all')\n"
    return installed(tmp_path, monkeypatch, BROKEN, parcast_ends=ends)


@pytest.mark.usefixtures("plugin")
def test_its_law_predicts():
    told = predict(Program(phase=[FARM]), Machine(), p=[1, 2, 11, 101])
    assert told.time.tolist() == [2000, 2000, 200, 50]
    assert told.sources == ("farm: the bounds of a master and of its workers",)


@pytest.mark.usefixtures("plugin")
def test_its_parameters_are_fitted():
    runs = Measurements(p=[1, 3, 9, 65, 129], time=[1000, 500, 125, 25, 25])
    found = fit(Program(phase=[FARM]), runs, interval=False)
    assert found["task"].value == pytest.approx(1)
    assert found["dealing"].value == pytest.approx(0.025)


@pytest.mark.usefixtures("plugin")
def test_its_parameters_are_checked_as_any():
    with pytest.raises(ParameterError, match=r"task +must be given\. Add it\."):
        Program(phase=[{"law": "farm"}])
    with pytest.raises(ParameterError, match="task must be above 0, got 0"):
        predict(Program(phase=[FARM]), Machine(), p=[2], vary={"task": [0.0]})
    with pytest.raises(ParameterError, match='Did you mean "farm"'):
        law_named("farn")


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    ("gives", "fault"),
    [
        (lambda p: Breakdown(compute=np.where(p > 2, np.nan, 1.0)), "compute of nan s"),
        (lambda p: Breakdown(compute=p, io=-p), "io of -1 s"),
        (lambda p: Breakdown(compute=np.ones((len(p), 1))), r"compute of the shape \(3, 1\)"),
        (
            lambda p: Breakdown(compute=np.ones(len(p) + 2)),
            r"compute of the shape \(5,\) on a grid of \(3,\)",
        ),
        (lambda p: p, "ndarray in place of a Breakdown"),
    ],
)
def test_what_it_gives_in_place_of_times_is_refused_with_its_name(monkeypatch, gives, fault):
    """Guards: NaN, negative times and wrong shapes of a plugin were computed with."""
    law = law_named("farm")
    monkeypatch.setattr(law, "cycle", lambda *of: gives(np.asarray(of[-1]["p"])))
    with pytest.raises(PluginFaultError, match=fault) as caught:
        Program(phase=[FARM]).times(Machine(), {"p": np.array([1.0, 2.0, 4.0])})
    assert str(caught.value).startswith(
        'the plugin "farm" of parcast-demo: its law must give times of at least 0'
    )


@pytest.mark.usefixtures("plugin")
def test_it_is_among_all_laws_and_in_the_schema():
    assert list(laws()) == [*LAWS, "farm"]
    assert "dealing" in Program.model_json_schema()["$defs"]["FarmPhase"]["properties"]


@pytest.mark.usefixtures("plugin", "broken")
def test_broken_ones_are_named_and_passed_over():
    with pytest.warns(PluginWarning) as told:
        assert law_named("farm").__name__ == "FarmPhase"
    start, end = "is ignored: ", "in parcast.laws"
    found = {str(x.message).split('"')[1]: str(x.message).split(start)[1] for x in told}
    assert found == {
        "absent": "parcast_absent:Law cannot be loaded, ModuleNotFoundError: "
        "No module named 'parcast_absent'.",
        "ends": "parcast_ends:Law cannot be loaded, SystemExit: no licence.",
        "odd": f"math must be {LAW}.",
        "other": f"parcast_demo.farm:FarmPhase must be {LAW}.",
        "root": f"math:sqrt must be {LAW}.",
        "sort": "parcast has one of this name. Rename it.",
    }
    assert all(f"of parcast-broken {end}" in str(x.message) for x in told)


@pytest.mark.usefixtures("plugin")
def test_of_two_with_one_name_the_first_stays(broken):
    (broken / "parcast_broken-1.0.dist-info" / "entry_points.txt").write_text(
        "[parcast.laws]\nfarm = parcast_demo.farm:FarmPhase\n"
    )
    with pytest.warns(PluginWarning, match="another package has one of this name"):
        law_named("farm")


@pytest.mark.usefixtures("broken")
def test_nobody_looks_for_plugins_where_laws_come_with_parcast():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert law_named("sort").__module__.startswith("parcast.")


def test_a_command_names_what_it_passes_over_and_answers(broken, tmp_path):
    (tmp_path / "program.toml").write_text('[[phase]]\nlaw = "farm"\ntasks = 9\ntask = "1 s"\n')
    (tmp_path / "machine.toml").write_text('name = "here"\n')
    files = (tmp_path / "program.toml", tmp_path / "machine.toml")
    said = parcast("predict", *files, "-p", 4, "--json", path=[PLUGINS, broken])
    assert said.returncode == 0
    assert '"time_s": 3.0' in said.stdout
    assert said.stderr.count("\n") == 6
    assert said.stderr.startswith('parcast: the plugin "')
    (tmp_path / "program.toml").write_text('[[phase]]\nlaw = "absent"\n')
    said = parcast("predict", *files, "-p", 4, path=[PLUGINS, broken])
    assert said.returncode == 3
    assert 'the plugin "absent" of parcast-broken' in said.stderr
    assert "must be the name of a law, got 'absent'." in said.stderr
    assert "Traceback" not in said.stderr


def test_a_fault_in_a_plugin_is_told_as_one_of_the_plugin(tmp_path, monkeypatch):
    source = (PLUGINS / "parcast_demo" / "farm.py").read_text(encoding="utf-8")
    begin = source.index("    def cycle")
    cycle = "    def cycle(self, machine, at):\n        return self.values(at)['tosks']\n"
    entry = "[parcast.laws]\nfarm = parcast_slip:FarmPhase\n"
    installed(tmp_path, monkeypatch, entry, "slip", parcast_slip=source[:begin] + cycle)
    program, machine = tmp_path / "program.toml", tmp_path / "machine.toml"
    program.write_text('[[phase]]\nlaw = "farm"\ntasks = 9\ntask = "2 s"\ndealing = "1 s"\n')
    machine.write_text('name = "any"\n')
    answer = parcast("predict", program, machine, "-p", "4", path=[tmp_path])
    assert answer.returncode == 70
    assert answer.stderr == (
        "parcast: this is a fault of the plugin \"farm\" of parcast-slip: KeyError: 'tosks'\n"
        "Run it again with --debug and report what it prints.\n"
    )


@pytest.mark.usefixtures("broken")
def test_a_command_says_other_warnings_as_python_does(capsys):
    @click.command
    def command():
        laws()
        warnings.warn("it is old", DeprecationWarning, stacklevel=1)

    with pytest.warns(DeprecationWarning, match="it is old"):
        assert run(command, []) == 0
    assert capsys.readouterr().err.count("parcast: the plugin") == 6


def test_the_how_to_shows_this_plugin():
    text = HOW_TO.read_text(encoding="utf-8")
    shown = dict(re.findall(r"<!-- file: (parcast\S+) -->\n```\w+\n(.*?)```", text, re.DOTALL))
    assert len(shown) == 3
    for name, content in shown.items():
        assert content in (PLUGINS / name).read_text(encoding="utf-8")
