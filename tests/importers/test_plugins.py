"""Formats of other packages: found, used by the commands, passed over where they are broken."""

import re

import pytest

from parcast.errors import ParameterError
from parcast.importers.registry import (
    FORMATS,
    Format,
    format_named,
    formats,
    import_timings,
    recognised,
)
from parcast.places import PluginWarning
from parcast.timings.measurements import Measurements
from tests.conftest import ROOT
from tests.installed import PLUGINS, installed, parcast

HOW_TO = ROOT / "docs" / "howto" / "add-an-importer.md"
SHEET = "stopwatch\n1 ranks: 8 10\n4 ranks: 3\n"
BROKEN = """[parcast.importers]
absent = parcast_absent:FORMAT
fails = parcast_fails:FORMAT
odd = math:sqrt
slurm = parcast_demo.stopwatch:FORMAT
"""
FAILS = """from parcast.importers.registry import Format
FORMAT = Format(title="Fails", recognises=lambda head, path: 1 / 0, timings=print)
"""


@pytest.fixture
def sheet(tmp_path):
    (tmp_path / "sheet.txt").write_text(SHEET)
    return tmp_path / "sheet.txt"


@pytest.fixture
def broken(monkeypatch, tmp_path):
    """Add a package all of whose formats are broken."""
    return installed(tmp_path, monkeypatch, BROKEN, parcast_fails=FAILS)


@pytest.mark.usefixtures("plugin")
def test_its_format_is_recognised_and_read(sheet):
    assert recognised(sheet).name == "stopwatch"
    told = import_timings(sheet, rename={"ranks": "p"}, constants={"n": 100})
    assert told.measurements == Measurements(
        p=[1, 1, 4], n=100, repetition=[1, 2, 1], time=[8, 10, 3]
    )
    assert list(formats()) == [*FORMATS, "stopwatch"]
    with pytest.raises(ParameterError, match="Did you mean stopwatch"):
        format_named("stopwach")


@pytest.mark.usefixtures("plugin", "broken")
def test_broken_ones_are_named_and_passed_over(sheet):
    with pytest.warns(PluginWarning) as told:
        assert recognised(sheet).name == "stopwatch"
    start = "is ignored: "
    assert {str(x.message).split('"')[1]: str(x.message).split(start)[1] for x in told} == {
        "absent": "parcast_absent:FORMAT cannot be loaded, ModuleNotFoundError: "
        "No module named 'parcast_absent'.",
        "fails": "recognises failed, ZeroDivisionError: division by zero.",
        "odd": "math:sqrt must be a parcast.importers.registry.Format.",
        "slurm": "parcast has one of this name. Rename it.",
    }


def test_the_command_lists_and_imports_it_and_names_what_is_broken(broken, sheet):
    said = parcast("import", "--list", path=[PLUGINS, broken])
    assert said.returncode == 0
    assert re.search("^stopwatch +Sheets of the stopwatch +timings.csv$", said.stdout, re.M)
    assert sorted(re.findall('plugin "([a-z]+)"', said.stderr)) == ["absent", "odd", "slurm"]
    assert all(line.startswith("parcast: the plugin ") for line in said.stderr.splitlines())
    said = parcast("import", "stopwatch", sheet, path=[PLUGINS, broken])
    assert said.stdout == "p,repetition,time_s\n1,1,8\n1,2,10\n4,1,3\n"
    said = parcast("import", "absent", sheet, path=[PLUGINS, broken])
    assert said.returncode == 2
    assert "'absent' is neither a format nor a file." in said.stderr
    assert "Traceback" not in said.stderr


def test_the_how_to_shows_this_plugin():
    text = HOW_TO.read_text(encoding="utf-8")
    shown = dict(re.findall(r"<!-- file: (parcast\S+) -->\n```\w+\n(.*?)```", text, re.DOTALL))
    assert len(shown) == 3
    for name, content in shown.items():
        assert content in (PLUGINS / name).read_text(encoding="utf-8")


def format_of(source, tmp_path, monkeypatch):
    """Install a package with one format, "demo", whose module is `source`."""
    module = f"from parcast.importers.registry import Format\nFORMAT = Format({source})\n"
    entry = "[parcast.importers]\ndemo = parcast_two:FORMAT\n"
    installed(tmp_path, monkeypatch, entry, "two", parcast_two=module)


ALL = 'title="Demo", recognises=lambda head, path: True'


@pytest.mark.usefixtures("plugin")
def test_a_file_that_two_formats_recognise_is_refused_with_both(sheet, tmp_path, monkeypatch):
    format_of(f"{ALL}, timings=print", tmp_path, monkeypatch)
    assert recognised(sheet) is None
    with pytest.raises(ParameterError) as caught:
        import_timings(sheet)
    first, second = names = [name for name in formats() if name in ("demo", "stopwatch")]
    assert sorted(names) == ["demo", "stopwatch"]
    assert str(caught.value) == (
        f"format must be given for {sheet}, which could be {first} or {second}. "
        f"Choose one: parcast import {first} {sheet}"
    )


def test_a_format_that_reads_nothing_is_ignored_when_it_is_registered(tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match="Format must have timings or machine, got neither"):
        Format(title="Empty", recognises=lambda *_: True)
    format_of(ALL, tmp_path, monkeypatch)
    with pytest.warns(PluginWarning, match="is ignored: .*Format must have timings or machine"):
        assert "demo" not in formats()


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("timings=lambda runs, metric: [1, 2]", "timings must return an Imported with"),
        ("machine=lambda paths: None", "machine must return an object with notes and to_toml"),
    ],
)
def test_what_a_plugin_returns_is_checked(function, says, parcast, tmp_path, monkeypatch):
    format_of(f"{ALL}, {function}", tmp_path, monkeypatch)
    (tmp_path / "some.txt").write_text("some")
    said = parcast("import", "demo", tmp_path / "some.txt")
    assert said.status == 70
    assert 'fault of the plugin "demo" of parcast-two: ' in said.err
    assert says in said.err
