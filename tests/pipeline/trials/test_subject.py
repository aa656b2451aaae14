"""`validate_pipeline` with an engine of known truth: the flow, the predictions, the verdict."""

import json

import pytest
from matplotlib.lines import Line2D

from parcast.errors import FitFailed, ParameterError
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


def test_nothing_is_run_that_was_not_predicted_before(tmp_path):
    place = tmp_path / "predictions.json"

    class Checking(Engine):
        def __call__(self, launch, **keys):
            if launch.purpose == "comparison":
                saved = json.loads(place.read_text())["predictions"]
                known = {(x["subject"], x["n"], x["p"]) for x in saved}
                asked = {(x.schedule, x.items, x.layout.total) for x in launch.cases}
                assert asked <= known
            super().__call__(launch, **keys)

    result = validated(Checking(), save_predictions=place)
    assert result.to_document()["predictions_file"] == str(place)
    for part in result.parts:
        small = max(x["n"] for x in part.runs if x["purpose"] == "calibration")
        assert small < min(row.case.items for row in part.comparisons)


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


def test_disturbed_runs_are_made_again_and_do_not_count():
    engine = Engine(disturbed=lambda point, number: point.items >= 64 and number == 1)
    result = validated(engine, layouts=[(2, 1), (4, 1)], sizes=[64, 128], calibrate_with=[16, 32])
    assert result.holds is True
    for each in result.parts:
        for row in each.comparisons:
            assert len(row.runs) == 2
            assert len(row.others) == 1
            assert not row.is_disturbed


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


def test_a_machine_that_is_never_idle_gets_an_answer_with_wider_limits():
    busy = Engine(disturbed=lambda *_: True, noise=0.02)
    result = validated(busy)
    assert result.holds is True
    part = result.parts[0]
    assert "the machine was never idle, so that limits are wider" in part.verdict.text
    assert "(required: 20 %, 50 %)" in part.verdict.text
    assert all(len(row.predictions) == 3 for row in part.comparisons)
    assert "Other programs used the machine all the time" in str(result)
    wrong = lambda point: lawful(point) * (point.items / 16) ** 0.4  # noqa: E731 - short
    refused = validated(Engine(disturbed=lambda *_: True, time=wrong))
    assert refused.holds is None
    assert "the machine was never idle. Repeat on an idle machine" in " ".join(
        str(refused).split()
    )


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


def test_an_interruption_keeps_what_was_compared():
    engine = Engine(fails_after=4)  # three launches of small runs, one of large ones
    result = validated(engine)
    assert result.ended_by == "interrupted"
    assert result.left_out == ("source",)
    [adaptive] = result.parts
    assert 0 < len(adaptive.compared) < len(adaptive.comparisons)
    with pytest.raises(KeyboardInterrupt):
        validated(Engine(fails_after=1))


def test_a_time_limit_that_allows_no_prediction_is_told():
    with pytest.raises(FitFailed, match="before anything was predicted"):
        validated(Engine(), time_limit=1e-9)


def test_every_layout_has_its_launches_in_an_order_of_the_seed():
    orders = []
    for seed in (1, 1, 2):
        engine = Engine()
        validated(engine, seed=seed)
        orders.append([launch.cases for launch in engine.launches])
    assert orders[0] == orders[1] != orders[2]
    assert all(len({x.layout for x in launch.cases}) == 1 for launch in engine.launches)


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


@pytest.mark.parametrize("is_disturbed", [False, True])
def test_the_legend_names_the_symbol_of_every_way(is_disturbed):
    """Each has a symbol of its own, also where all runs were disturbed and points are pale."""
    result = validated(Engine(disturbed=lambda *_: is_disturbed))
    [legend] = figure_of_validation(result).legends
    named = {
        text.get_text(): (line.get_marker(), line.get_color(), line.get_alpha())
        for text, line in zip(legend.get_texts(), legend.legend_handles, strict=True)
        if isinstance(line, Line2D)
    }
    ways = [named[x] for x in ("stated", "law", "given", "mm1", "overlapped", "calibrated law")]
    assert {alpha for _, _, alpha in ways} == {None}
    assert len({ways[0], ways[1], ways[2], ways[-1]}) == 4
    assert (DISTURBED in named) == is_disturbed
