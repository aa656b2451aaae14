"""Pictures of schedules and traced runs: what is drawn, for any number of ranks."""

from collections import Counter

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from parcast.errors import ParameterError
from parcast.pipeline.explaining.explain import explain_pipeline
from parcast.pipeline.explaining.picture import figure_of
from parcast.pipeline.explaining.timeline import timeline_of
from parcast.pipeline.explaining.timeline_picture import figure_of as figure_of_run
from parcast.pipeline.traces.trace import read_trace
from parcast.show.pictures.colours import (
    COMMUNICATION,
    COMPUTING,
    INPUT_OUTPUT,
    MERGING,
    RECEIVING,
)
from tests.pipeline.explaining.traced import traced


def boxes_of(ax):
    """Count the bars of each colour."""
    drawn = [x for x in ax.collections if isinstance(x, PolyCollection)]
    counts = Counter()
    for x in drawn:
        counts[mpl.colors.to_hex(x.get_facecolor()[0]).upper()] += len(x.get_paths())
    return dict(counts)


def texts_of(ax):
    return [x.get_text() for x in ax.texts if x.get_text()]


def test_a_schedule_has_a_bar_for_each_task_and_merge():
    result = explain_pipeline(8)
    ranks, stages, tree = figure_of(result).axes
    assert boxes_of(ranks) == {COMPUTING: 8 + 6 * 4, MERGING: 6 * 4 - 1, RECEIVING: 1}
    texts = texts_of(ranks)
    assert {"31", "8-19", "0-7"} <= set(texts)
    arrows = [x for x in ranks.texts if isinstance(x, Annotation)]
    assert len(arrows) == len(result.messages) == 24
    assert ranks.get_ylim() == (7.5, -0.5)
    assert [x.get_text() for x in ranks.get_xticklabels()][:2] == ["start", "1"]
    assert boxes_of(stages) == {COMPUTING: 7, COMMUNICATION: 21 + 7, MERGING: 14}
    assert "".join(texts_of(stages)).count("M") == 14
    assert stages.get_xlim() == (0, 13)
    [lines] = [x for x in tree.collections if isinstance(x, LineCollection)]
    assert len(lines.get_segments()) == 14
    assert sorted(texts_of(tree)) == sorted("76543210" + "7531" + "73" + "7")


@pytest.mark.parametrize(
    ("items", "groups"), [(3, ["0-1", "2"]), (9, ["0-1", "2-3", "4-5", "6-7", "8"])]
)
def test_stages_are_those_of_items_that_there_are(items, groups):
    result = explain_pipeline(4, items=items)
    stages = figure_of(result).axes[1]
    assert [x.get_text() for x in stages.get_yticklabels()] == groups
    assert texts_of(stages).count("D") == len(groups)
    table = next(x.forms[0] for x in result.to_sheet().tables if "Stages" in x.forms[0].caption)
    assert list(table.columns[0].cells) == groups[:4]


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize("size", [1, 3, 5, 256])
def test_any_number_of_ranks_is_drawn(size, tmp_path):
    result = explain_pipeline(size, items=30 if size == 3 else None)
    path = tmp_path / "schedule.svg"
    result.save(path)
    if size == 5:
        first = path.read_bytes()
        result.save(path)
        assert path.read_bytes() == first
    figure = figure_of(result)
    panels = {1: 1, 3: 2, 5: 2}
    assert len(figure.axes) == panels.get(size, 3)
    assert figure.get_size_inches()[1] < 16


def test_neighbours_of_many_ranks_are_one_bar():
    ranks, *_ = figure_of(explain_pipeline(256, cycles=1)).axes
    assert boxes_of(ranks)[COMPUTING] == 1 + 128 + 64 + 32 + 16 + 8 + 4 + 2 + 1
    assert texts_of(ranks) == []


def test_a_schedule_of_several_panels_is_not_drawn_in_given_axes():
    ax = Figure().subplots()
    with pytest.raises(ParameterError, match="several panels"):
        explain_pipeline(8).plot(ax)
    assert explain_pipeline(1).plot(ax) is ax
    assert boxes_of(ax) == {COMPUTING: 3}


def test_a_run_has_a_lane_for_each_rank(tmp_path):
    run = timeline_of(read_trace(traced(tmp_path / "run.jsonl")))
    ax = run.plot()
    assert ax.get_ylim() == (3.5, -0.5)
    assert ax.get_xlabel() == "time [ms]"
    assert set(boxes_of(ax)) == {COMPUTING, MERGING, INPUT_OUTPUT}
    [lines] = [x for x in ax.collections if isinstance(x, LineCollection)]
    assert len(lines.get_segments()) == run.events.message_count
    tasks = next(x for x in ax.collections if isinstance(x, PolyCollection))
    drawn = sum(np.ptp(x.vertices[:, 0]) for x in tasks.get_paths()) / 1e3
    assert drawn == pytest.approx(sum(rank.computing for rank in run.ranks), rel=0.01)
    legend = {x.get_text() for x in ax.figure.legends[0].get_texts()}
    assert legend == {"task", "merge", "fetch", "message", "delivery to the server"}


def test_of_many_messages_the_largest_are_drawn_and_it_is_said(tmp_path):
    run = timeline_of(read_trace(traced(tmp_path / "run.jsonl", 8, 400)))
    figure = figure_of_run(run)
    [lines] = [x for x in figure.axes[0].collections if isinstance(x, LineCollection)]
    assert len(lines.get_segments()) == 200
    [note] = [x.get_text() for x in figure.texts if "Messages" in x.get_text()]
    assert note == f"Messages: the 200 largest of {run.events.message_count}."


def test_a_run_is_drawn_in_given_axes(tmp_path):
    run = timeline_of(read_trace(traced(tmp_path / "run.jsonl", 1, 3)))
    ax = Figure().subplots()
    assert run.plot(ax) is ax
    assert ax.get_legend() is not None
