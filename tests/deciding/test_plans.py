"""Plans of other packages: found, ranked and shown as ours, and named where they are wrong."""

import csv
import json
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from parcast.cli.plugged import takes_options
from parcast.deciding.alternatives import best_first
from parcast.deciding.plans import PLAN, OwnPlan, decided, with_plugins
from parcast.places import PluginFaultError, PluginWarning
from parcast.saved.load import load
from parcast.show.pictures.canvas import svg_of
from tests.conftest import ROOT
from tests.installed import PLUGINS, installed, parcast

HOW_TO = ROOT / "docs" / "howto" / "add-a-plan.md"
GOOD = {"title": "Caches", "asked": "GB", "cost": [1, 2, 4], "time": [3.0, 2.0, 1.9]}


def given(**changes):
    plan = OwnPlan(summary="", alternatives=lambda: SimpleNamespace(**GOOD | changes))
    return decided("cache", plan, {})


def test_its_command_ranks_draws_and_writes(tmp_path):
    paths = [tmp_path / f"plan.{ending}" for ending in ("csv", "json", "svg")]
    outputs = [part for path in paths for part in ("-o", path)]
    said = parcast("plan", "cache", "--tiles", "20GB", *outputs, path=[PLUGINS])
    assert said.returncode == 0, said.stderr
    lines = said.stdout.splitlines()
    assert lines[0] == "Cache of tiles: 32 GB, 10 s"
    assert lines[4].split() == ["*", "32", "0%", "10.00"]
    assert lines[-1] == "why         0% of the reads miss the cache"
    rows = list(csv.DictReader(paths[0].read_text(encoding="utf-8").splitlines()))
    assert [row["GB"] for row in rows][:2] == ["32.0", "64.0"]
    assert [row["recommended"] for row in rows] == ["True", *["False"] * 6]
    assert json.loads(paths[1].read_text(encoding="utf-8"))["schema"] == "parcast/plan/1"
    assert "recommended: 32 GB" in paths[2].read_text(encoding="utf-8")


def test_it_is_the_same_when_it_was_saved_and_is_loaded_again(tmp_path):
    result = given(columns={"misses": ["few", 2, 0.5]}, remedies=["Buy a disk."])
    result.save(tmp_path / "plan.json")
    again = load(tmp_path / "plan.json")
    assert again == result
    assert str(again) == str(result)
    assert svg_of(again._drawn) == svg_of(result._drawn)


def test_it_is_listed_and_its_options_are_refused_in_their_names():
    listed = parcast("plan", path=[PLUGINS]).stdout
    assert "cache     Memory of a cache of tiles." in listed
    said = parcast("plan", "cache", "--tiles", "many", path=[PLUGINS])
    assert (said.returncode, "--tiles must be a size" in said.stderr) == (2, True)


def test_the_how_to_is_the_plugin_of_these_tests():
    text = HOW_TO.read_text(encoding="utf-8")
    assert (PLUGINS / "parcast_demo" / "cache.py").read_text(encoding="utf-8") in text
    assert 'cache = "parcast_demo.cache:PLAN"' in text


def test_only_plans_of_other_packages_are_looked_for(monkeypatch, tmp_path):
    installed(tmp_path, monkeypatch, "[parcast.deciding]\nroot = math:sqrt\nio = math:sqrt\n")
    places = with_plugins(PLAN)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert "pipeline" in places
        assert not told
        assert "root" not in places
        assert len(places) == len(PLAN)
    assert {each.category for each in told} == {PluginWarning}
    assert "math:sqrt must be a parcast.deciding.plans.OwnPlan" in str(told[0].message)


@pytest.mark.parametrize(
    ("changes", "got"),
    [
        ({"time": []}, "got time of the shape (0,)"),
        ({"time": 3.0}, "got time of the shape ()"),
        ({"cost": [1, 2]}, "got cost of another length than time, which has 3"),
        ({"columns": {"misses": [1]}}, "got misses of another length than time, which has 3"),
        ({"time": [1.0, 0.0, 2.0]}, "got time that is not above 0 everywhere"),
        ({"lower": [1.0, np.nan, 2.0]}, "got lower that is not above 0 everywhere"),
        ({"time": ["a", "b", "c"]}, "got could not convert string to float: 'a'"),
        ({"fits": [True, False]}, "got operands could not be broadcast together"),
        ({"title": 3}, "got title that is no text"),
        ({"time": [1j, 2.0, 3.0]}, "got complex numbers"),
        ({"close": "near"}, "got could not convert string to float: 'near'"),
        ({"reasons": lambda _: 5}, "got reasons that are no list of texts: 5"),
        ({"reasons": lambda _: "fast"}, "got reasons that are no list of texts: 'fast'"),
    ],
)
def test_a_plan_that_breaks_its_protocol_is_named_with_what_it_must_give(changes, got):
    with pytest.raises(PluginFaultError) as refused:
        given(**changes)
    text = str(refused.value)
    assert text.startswith(
        'the plugin "cache" of tests.deciding.test_plans: a plan must give title and asked, which'
    )
    assert got in text
    assert text.endswith("Tell its authors.")


def test_a_function_must_take_the_options_of_its_plan():
    for name, does in {"tiles": True, "nope": False}.items():
        assert takes_options(lambda tiles: tiles, {name: "help"}) is does


def test_nothing_at_all_is_no_alternatives():
    plan = OwnPlan(summary="", alternatives=lambda: None)
    with pytest.raises(PluginFaultError, match="got 'NoneType' object has no attribute 'time'"):
        decided("cache", plan, {})


def test_limits_are_kept_and_remedies_said_where_none_fits():
    some = given(fits=[True, False, False], lower=[2.9, 1.9, 1.8], upper=[3.2, 2.2, 2.1])
    assert some.chosen == 0
    assert "3.00 s (90% interval 2.90 to 3.20 s)" in str(some)
    assert "-: not within the limits" in str(some)
    none = given(fits=False, remedies=["Buy more memory"], within=1.0)
    assert none.chosen is None
    assert str(none).startswith("Caches: no plan")
    assert "no plan     Buy more memory" in str(none)
    assert list(none.plot().figure.axes)


def test_the_best_are_first():
    time, cost = np.array([5.0, 3.0, 3.0, 4.0, 9.0]), np.array([1, 4, 3, 2, 1])
    assert best_first(time, cost).tolist() == [2, 1, 3, 0, 4]
    assert best_first(time, cost, close=0.4).tolist() == [3, 2, 1, 0, 4]
    assert best_first(time, cost, close=np.inf).tolist() == [0, 3, 2, 1, 4]
    assert best_first(time, cost, score=-time).tolist() == [4, 0, 3, 2, 1]
    fits = [True, False, False, False, True]
    order = best_first(time, cost, fits=fits, excess=[0.0, 3.0, 2.0, 1.0, 0.0])
    assert order.tolist() == [0, 4, 3, 2, 1]
    assert best_first(time, cost, fits=False, close=0.1).tolist() == [2, 1, 3, 0, 4]


def test_a_broken_plan_ends_as_a_fault_of_its_plugin(monkeypatch, parcast):
    plan = OwnPlan(summary="Broken.", alternatives=lambda: SimpleNamespace(time=[1.0]))
    monkeypatch.setattr("parcast.cli.plugged.plugins", lambda *_, **__: {"cache": plan})
    said = parcast("plan", "cache")
    assert said.status == 70
    assert said.err.startswith('parcast: this is a fault of the plugin "cache" of tests.')
    assert "a plan must give title and asked" in said.err
    assert "--help" not in said.err
