"""`validate_pipeline` with an engine of known truth: the flow, the predictions, the verdict."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.lines import Line2D

from parcast.errors import FitFailed, ParameterError
from parcast.mpi.folders import documents_in
from parcast.pipeline.law.formulas import message_delay, pipeline_time, steps
from parcast.pipeline.validating.observation import Layout, Observed, Point
from parcast.pipeline.validating.picture import DISTURBED, LABELS, figure_of
from parcast.pipeline.validating.validate import LAYOUTS, validate_pipeline
from parcast.pipeline.validating.work import Work
from tests.pipeline.validating.made import MESSAGE, PARTS, STARTUP, TASK, Engine, lawful

CORES = 16  # one for each rank, so that the truth need not know of sharing


def validated(engine, **options):
    """Validate with as many cores as ranks, and little time."""
    return validate_pipeline(**{"runner": engine, "cores": CORES, "seed": 1} | options)


def test_a_lawful_engine_is_predicted_by_the_law_and_by_calibration():
    result = validated(Engine())
    assert result.holds is True
    adaptive, source = result.schedules
    for row in adaptive.rows_:  # the start is all that measured times lack
        assert row.predicted["given"] + STARTUP == pytest.approx(row.measured)
    assert adaptive.accuracy("calibrated").worst < 0.06
    assert source.accuracy("calibrated").worst < 0.01
    # (6) with the message time of the trace, which includes waiting: 10 times the truth.
    assert source.accuracy("given").mean > source.accuracy("mm1").mean
    assert {row.point.layout for row in adaptive.rows_} == set(LAYOUTS)


def test_nothing_is_run_that_was_not_predicted_before():
    engine = Engine()
    result = validated(engine)
    traced = [is_traced for _, is_traced, _ in engine.launches]
    assert traced == sorted(traced, reverse=True)  # the small runs come first
    small = max(p.items for points, is_traced, _ in engine.launches if is_traced for p in points)
    large = min(row.point.items for each in result.schedules for row in each.rows_)
    assert small < large
    for each in result.schedules:
        assert {run.point for run in each.small}.isdisjoint(row.point for row in each.rows_)


def test_the_ways_of_the_source_are_its_formulas_with_the_measured_times():
    [source] = validated(Engine(), schedules=["source"], layouts=[(4, 2)], sizes=[64]).schedules
    [row] = source.rows_
    assert row.steps == float(steps(64, 4, pipelines=2))
    service = PARTS.bytes / source.costs.capacity
    assert service == pytest.approx(MESSAGE / 5)
    for way in ("mm1", "md1"):
        sent = message_delay(4 / TASK, service=service, delay=way)
        stated = pipeline_time(
            64, 4, pipelines=2, task=TASK, merge=PARTS.merge, communication=sent
        )
        assert row.predicted[way] == pytest.approx(float(stated))
    given = pipeline_time(
        64, 4, pipelines=2, task=TASK, merge=PARTS.merge, communication=PARTS.message
    )
    assert row.predicted["given"] == pytest.approx(float(given))
    assert row.predicted["md1"] <= row.predicted["mm1"] < row.predicted["given"]


def test_a_law_that_fails_at_larger_sizes_is_refused():
    engine = Engine(time=lambda point: lawful(point) * (point.items / 16) ** 0.4)
    result = validated(engine, schedules=["adaptive"])
    assert result.holds is False
    assert result.schedules[0].answer == "does not hold"


def test_disturbed_runs_are_made_again_and_do_not_count():
    engine = Engine(disturbed=lambda point, number: point.items >= 64 and number == 1)
    result = validated(engine, layouts=[(2, 1), (4, 1)], sizes=[64, 128], calibrate_with=[16, 32])
    assert result.holds is True
    for each in result.schedules:
        for row in each.rows_:
            assert len(row.runs) == 2
            assert len(row.others) == 1
            assert not row.is_disturbed


def test_runs_that_are_always_disturbed_decide_nothing(monkeypatch):
    monkeypatch.setattr("parcast.pipeline.validating.validate.PATIENCE", np.inf)
    engine = Engine(disturbed=lambda point, _: point.items >= 64)
    result = validated(engine, layouts=[(2, 1), (4, 1)], sizes=[64, 128], calibrate_with=[16, 32])
    assert result.holds is None
    row = result.schedules[0].rows_[0]
    assert row.is_disturbed
    assert len(row.runs) > 3  # it was repeated
    assert "measured rows were disturbed" in result.schedules[0].reason
    engine = Engine(disturbed=lambda point, _: point.items < 64)
    small = validated(engine, sizes=[64, 128])
    assert "small runs were disturbed" in small.schedules[0].reason
    assert sum(is_traced for _, is_traced, _ in engine.launches) > 3  # they were repeated


def test_one_disturbed_small_run_of_three_does_not_count():
    engine = Engine(disturbed=lambda point, number: point.items < 64 and number == 2)
    result = validated(engine)
    assert result.holds is True
    for each in result.schedules:
        assert not any(run.waiting for run in each.small)


def test_ranks_that_share_cores_take_longer_in_all_ways():
    options = {"layouts": [(4, 2)], "sizes": [64]}
    own = validated(Engine(), **options)
    shared = validated(Engine(), **options, **{"cores": 2})
    for alone, together in zip(own.schedules, shared.schedules, strict=True):
        ways = alone.rows_[0].predicted.keys() - {"calibrated"}
        for way in ways:
            assert together.rows_[0].predicted[way] > 1.8 * alone.rows_[0].predicted[way]
        assert together.rows_[0].is_shared
        assert not alone.rows_[0].is_shared


def test_layouts_that_are_no_power_of_two_run_the_default_schedule_only():
    result = validated(Engine(), layouts=[(3, 1), (4, 1)], sizes=[64])
    adaptive, source = result.schedules
    assert [row.point.layout for row in adaptive.rows_] == [Layout(3, 1), Layout(4, 1)]
    assert [row.point.layout for row in source.rows_] == [Layout(4, 1)]
    assert adaptive.rows_[0].predicted["stated"] is None
    assert adaptive.rows_[0].steps is None
    assert adaptive.rows_[1].predicted["stated"] > 0


def test_an_interruption_keeps_what_was_compared():
    engine = Engine(fails_after=5)  # three launches of small runs, two of large ones
    result = validated(engine)
    assert result.ended_by == "interrupted"
    ran = [row for each in result.schedules for row in each.rows_ if row.runs]
    assert 0 < len(ran) < sum(len(each.rows_) for each in result.schedules)
    with pytest.raises(KeyboardInterrupt):
        validated(Engine(fails_after=1))


def test_a_time_limit_that_allows_no_prediction_is_told():
    with pytest.raises(FitFailed, match="before the small runs had ended"):
        validated(Engine(), time_limit=1e-9)


def test_every_layout_has_its_launches_in_an_order_of_the_seed():
    orders = []
    for seed in (1, 1, 2):
        engine = Engine()
        validated(engine, seed=seed)
        orders.append([points for points, _, _ in engine.launches])
    assert orders[0] == orders[1] != orders[2]
    for points, _, work in engine.launches:
        assert len({point.layout for point in points}) == 1
        assert work == Work(task=0.02)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"schedules": ["fast"]}, 'schedules must be "adaptive" or "source"'),
        ({"layouts": [(1, 1)]}, "layouts must be from 2 to 4096 ranks"),
        ({"layouts": [(3, 2)]}, "layouts must have a P that is a power of two"),
        ({"sizes": [8], "calibrate_with": [4, 8]}, "calibrate_with must be below the smallest"),
        ({"calibrate_with": [4]}, "calibrate_with must be at least 2 sizes"),
        ({"task": -1.0}, "task must be above 0"),
        ({"message": 4}, "message must be at least 8 bytes"),
        ({"time_limit": 0}, "time_limit must be above 0"),
    ],
)
def test_wrong_use_is_refused(options, says):
    with pytest.raises(ParameterError, match=says):
        validated(Engine(), **options)


def test_an_observation_survives_its_document(tmp_path):
    point = Point(schedule="source", items=16, layout=Layout(4, 2))
    for parts in (None, PARTS):
        run = Observed(point=point, launch=1, time=STARTUP, waiting=None, parts=parts)
        assert Observed.from_document(run.to_document()) == run
    answer = tmp_path / "runs.jsonl"
    assert list(documents_in(answer)) == []
    answer.write_text('{"p": 1}\n{"p":', encoding="utf-8")  # the second line is being written
    assert list(documents_in(answer)) == [{"p": 1}]


@pytest.mark.parametrize("is_disturbed", [False, True])
def test_the_legend_names_the_symbol_of_every_way(is_disturbed):
    """Each has a symbol of its own, also where all runs were disturbed and points are pale."""
    result = validated(Engine())
    parts = (
        replace(x, rows_=tuple(replace(row, is_disturbed=is_disturbed) for row in x.rows_))
        for x in result.schedules
    )
    [legend] = figure_of(replace(result, schedules=tuple(parts))).legends
    named = {
        text.get_text(): (line.get_marker(), line.get_color(), line.get_alpha())
        for text, line in zip(legend.get_texts(), legend.legend_handles, strict=True)
        if isinstance(line, Line2D)
    }
    assert {*LABELS.values()} <= named.keys()
    ways = [named[label] for label in LABELS.values()]
    assert len(set(ways)) == len(ways)
    assert {alpha for _, _, alpha in ways} == {None}
    assert (DISTURBED in named) == is_disturbed
