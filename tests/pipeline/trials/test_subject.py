"""`validate_pipeline` with an engine of known truth: the flow, the predictions, the verdict."""

import pytest
from matplotlib.lines import Line2D

from parcast.errors import ParameterError
from parcast.pipeline.law.formulas import message_delay, pipeline_time, steps
from parcast.pipeline.trials.observation import PipelineLayout
from parcast.pipeline.trials.subject import LAYOUTS, validate_pipeline
from parcast.validation.picture import DISTURBED, figure_of_validation
from tests.pipeline.trials.made import MESSAGE, PARTS, STARTUP, TASK, Engine, lawful

CORES = 16  # one for each rank, so that the truth need not know of sharing


def validated(engine, **options):
    """Validate with as many cores as ranks, and little time."""
    few = {"cores": CORES, "seed": 1, "layouts": [(2, 1), (4, 1)], "sizes": [64, 128, 256]}
    return validate_pipeline(**{"launcher": engine} | few | options)


def test_a_lawful_engine_is_predicted_by_the_law_and_by_calibration():
    result = validated(Engine(), layouts=None, sizes=None)
    assert result.holds is True
    adaptive, source = result.parts
    for row in adaptive.compared:  # the start is all that measured times lack
        assert row.ways["given"] + STARTUP == pytest.approx(row.measured)
    assert adaptive.accuracy("calibrated").worst < 0.06
    assert source.accuracy("calibrated").worst < 0.01
    # (6) with the message time of the trace, which includes waiting: 10 times the truth.
    assert source.accuracy("given").mean > source.accuracy("mm1").mean
    assert {row.case.layout for row in adaptive.comparisons} == set(LAYOUTS)


def test_the_ways_of_the_source_are_its_formulas_with_the_measured_times():
    [source] = validated(Engine(), schedules=["source"], layouts=[(4, 2)], sizes=[64]).parts
    [row] = source.comparisons
    assert row.row["steps"] == float(steps(64, 4, pipelines=2))
    service = PARTS.bytes / source.findings.document["costs"]["channel_B_per_s"]
    assert service == pytest.approx(MESSAGE / 5)
    for way in ("mm1", "md1"):
        sent = message_delay(4 / TASK, service=service, delay=way)
        stated = pipeline_time(
            64, 4, pipelines=2, task=TASK, merge=PARTS.merge, communication=sent
        )
        assert row.ways[way] == pytest.approx(float(stated))
    given = pipeline_time(
        64, 4, pipelines=2, task=TASK, merge=PARTS.merge, communication=PARTS.message
    )
    assert row.ways["given"] == pytest.approx(float(given))
    assert row.ways["md1"] <= row.ways["mm1"] < row.ways["given"]


def test_a_law_that_fails_at_larger_sizes_is_refused():
    engine = Engine(time=lambda point: lawful(point) * (point.items / 16) ** 0.4)
    result = validated(engine, schedules=["adaptive"])
    assert result.holds is False
    assert result.parts[0].answer == "does not hold"


def test_runs_that_are_disturbed_decide_nothing_if_the_calibration_was_not():
    engine = Engine(disturbed=lambda point, _: point.items >= 64)
    result = validated(engine, layouts=[(2, 1), (4, 1)], sizes=[64, 128], calibrate_with=[16, 32])
    assert result.holds is None
    part = result.parts[0]
    row = part.comparisons[0]
    assert row.is_disturbed
    assert (len(row.predictions), len(row.runs)) == (3, 5)  # in further passes
    assert "runs at half or more of the cases were disturbed" in part.verdict.reason
    engine = Engine(disturbed=lambda point, _: point.items < 64)
    small = validated(engine, sizes=[64, 128])
    assert "most of the runs it was calibrated with" in small.parts[0].verdict.reason


def test_two_ranks_are_calibrated_below_the_few_items_of_a_quick_validation():
    result = validated(Engine(), layouts=[(2, 1)], sizes=None, quick=True)
    assert {row.case.items for each in result.parts for row in each.comparisons} == {4, 8, 16}


def test_one_disturbed_small_run_of_three_does_not_count():
    engine = Engine(disturbed=lambda point, number: point.items < 64 and number == 2)
    result = validated(engine)
    assert result.holds is True
    for run in (x for part in result.parts for x in part.runs if x["waiting"]):
        assert not run["counts"]


def test_ranks_that_share_cores_take_longer_in_all_ways():
    options = {"layouts": [(4, 2)], "sizes": [64]}
    own = validated(Engine(), **options)
    shared = validated(Engine(), **options, **{"cores": 2})
    for alone, together in zip(own.compared, shared.compared, strict=True):
        for way in alone.ways.keys() - {"calibrated"}:
            assert together.ways[way] > 1.8 * alone.ways[way]
        assert together.row["shared_cores"]
        assert not alone.row["shared_cores"]


def test_layouts_that_are_no_power_of_two_run_the_default_schedule_only():
    result = validated(Engine(), layouts=[(3, 1), (4, 1)], sizes=[64])
    adaptive, source = (part.comparisons for part in result.parts)
    assert [row.case.layout for row in adaptive] == [PipelineLayout(3, 1), PipelineLayout(4, 1)]
    assert [row.case.layout for row in source] == [PipelineLayout(4, 1)]
    assert (adaptive[0].ways["stated"], adaptive[0].row["steps"]) == (None, None)
    assert adaptive[1].ways["stated"] > 0


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


def test_the_legend_names_the_symbol_of_every_way():
    """Each has a symbol of its own, also where all runs were disturbed and points are pale."""
    result = validated(Engine(disturbed=lambda *_: True))
    [legend] = figure_of_validation(result).legends
    named = {
        text.get_text(): (line.get_marker(), line.get_color(), line.get_alpha())
        for text, line in zip(legend.get_texts(), legend.legend_handles, strict=True)
        if isinstance(line, Line2D)
    }
    ways = [named[x] for x in ("stated", "law", "given", "mm1", "overlapped", "calibrated law")]
    assert {alpha for _, _, alpha in ways} == {None}
    assert len({ways[0], ways[1], ways[2], ways[-1]}) == 4
    assert DISTURBED in named
