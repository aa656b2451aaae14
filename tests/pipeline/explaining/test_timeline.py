"""The timeline of a traced run: where the time of each rank went, and what limited the run."""

import numpy as np
import pytest

from parcast.pipeline.explaining.timeline import _length, timeline_of
from parcast.pipeline.traces.trace import read_trace, write_trace
from parcast.show.outline import document_of
from tests.pipeline.explaining.traced import header, message, traced, work

KINDS = ("computing", "merging", "communicating", "idle")


def timeline(path, events, ranks=2, seconds=10.0, **facts):
    """Write events as a trace, read it, and divide its time."""
    write_trace(path, header(ranks, seconds, **facts), events)
    return timeline_of(read_trace(path))


def task(rank, start, end, first=0, core=1.0):
    return work("task", rank, (start, end), core, (first, first + 1))


def merge(rank, start, end):
    return work("merge", rank, (start, end), 1.0, (0, 2)) | {"inputs": 2}


@pytest.fixture
def path(tmp_path):
    """Where a trace is written."""
    return tmp_path / "run.jsonl"


def test_the_time_of_each_rank_is_divided(path):
    events = [
        task(0, 1.0, 4.0),
        task(1, 0.0, 5.0, first=1),
        message(1, 0, (5.0, 6.0), (1, 2)),
        merge(0, 6.0, 8.0),
        {
            "event": "deliver",
            "rank": 0,
            "start": 8.0,
            "end": 9.0,
            "first": 0,
            "stop": 2,
            "bytes": 8,
        },
    ]
    first, second = timeline(path, events).ranks
    assert [getattr(first, x) for x in KINDS] == pytest.approx([3.0, 2.0, 2.0, 3.0])
    assert (first.starting, first.ending) == pytest.approx((1.0, 1.0))
    assert [getattr(second, x) for x in KINDS] == pytest.approx([5.0, 0.0, 1.0, 4.0])
    assert (second.starting, second.ending) == pytest.approx((0.0, 4.0))
    assert (first.tasks, first.merges, first.items) == (1, 1, 1)
    assert document_of(second)["communicating_s"] == pytest.approx(1.0)


def test_parts_of_a_run_add_up_whatever_overlaps(tmp_path):
    result = timeline_of(read_trace(traced(tmp_path / "run.jsonl.gz", 5, 90)))
    for rank in result.ranks:
        assert sum(getattr(rank, x) for x in KINDS) == pytest.approx(result.seconds)
        assert all(getattr(rank, x) >= 0 for x in KINDS)
    assert sum(result.share(x) for x in KINDS) == pytest.approx(1.0)
    assert sum(rank.items for rank in result.ranks) == 90
    assert sum(rank.merges for rank in result.ranks) == 89


def test_overlapping_spans_are_counted_once():
    rng = np.random.default_rng(1)
    start = rng.uniform(-1, 10, 50)
    end = start + rng.exponential(0.5, 50)
    grid = np.linspace(0, 9, 200_001)[:-1] + 9 / 400_000
    covered = np.zeros(len(grid), dtype=bool)
    for left, right in zip(start, end, strict=True):
        covered |= (grid >= left) & (grid < right)
    assert _length(start, end, 9.0) == pytest.approx(9 * covered.mean(), abs=1e-3)
    assert _length(start[:0], end[:0], 9.0) == 0.0


@pytest.mark.parametrize(
    ("events", "facts", "says"),
    [
        ([task(0, 0, 9.5), task(1, 0, 9.9)], {}, "computing: ranks compute 97% and merge "),
        (
            [task(0, 0, 9.5, core=0.5), task(1, 0, 9.9, core=0.5)],
            {"cores": 1},
            "processor cores: 2 ranks share 1 core, and tasks and merges used 50% of one each; "
            "ranks compute 97%",
        ),
        (
            [task(0, 0, 9.5, core=0.5), task(1, 0, 9.9, core=0.5)],
            {},
            "waiting inside tasks and merges: they used a core 50% of their time (they sleep, ",
        ),
        (
            [task(0, 0, 9.5, core=0.02), task(1, 0, 9.9, core=0.02)],
            {"cores": 1},
            "waiting inside tasks and merges: they used a core 2% of their time (they sleep, ",
        ),
        ([merge(0, 0, 9.5), merge(1, 0, 9.9)], {}, "merging: ranks compute less than 1% and"),
        ([task(0, 6, 10), task(1, 8, 10)], {}, "the start: ranks wait 70% of the time for their"),
        ([task(0, 0, 10), task(1, 0, 3)], {}, "the last merges: ranks have no more work for 35%"),
        (
            [task(0, 0, 2), message(0, 1, (1, 9), (0, 1)), task(1, 9, 10, first=1)],
            {},
            "communication: ranks wait for messages 7",
        ),
        (
            [task(0, 0, 1), task(0, 9, 10, first=1), task(1, 0, 1), task(1, 9, 10, first=2)],
            {},
            "waiting: ranks are idle between tasks and merges 80% of the time; ranks compute 20%",
        ),
        (
            [
                task(1, 0, 1),
                task(1, 9, 10, first=1),
                {"event": "fetch", "rank": 0, "start": 0.0, "end": 5.5, "items": 2},
                task(0, 5.5, 10, first=2),
            ],
            {},
            "the input: rank 0 reads items 55% of the run, and ranks wait 40% of the time",
        ),
    ],
)
def test_what_limited_a_run_is_said(path, events, facts, says):
    assert timeline(path, events, **facts).limited_by.startswith(says)


def test_a_run_without_events_is_a_timeline(path):
    result = timeline(path, [], ranks=3)
    assert [rank.idle for rank in result.ranks] == [10.0] * 3
    assert result.limited_by.startswith("the start: ranks wait 100% of the time")
    assert "0 items in 0 tasks, 0 merges" in str(result)
    nothing = timeline(path, [], seconds=0.0)
    assert nothing.share("idle") == 0.0
    assert "\n" in str(nothing)


def test_the_document_has_the_shares_and_every_rank(tmp_path):
    result = timeline_of(read_trace(traced(tmp_path / "run.jsonl")))
    document = result.to_document()
    assert document["schema"] == "parcast/pipeline-timeline/1"
    assert [row["rank"] for row in document["rows"]] == [0, 1, 2, 3]
    assert sum(document["shares"].values()) == pytest.approx(1.0)
    assert document["limited_by"] == result.limited_by
    assert repr(result).startswith("Timeline('count words', 4 ranks, ")


def test_a_trace_whose_end_is_missing_comes_with_a_warning(path):
    whole = timeline(path, [task(0, 0.0, 1.0), task(1, 0.0, 1.0, first=1)], items=2)
    assert whole.warnings == ()
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    cut = timeline_of(path)
    [warning] = cut.warnings
    assert warning.startswith("The trace has tasks of 1 of 2 items: the end is missing, or")
    assert cut.to_sheet().warnings == (warning,)
    assert cut.to_document()["warnings"] == [warning]
