"""What a person reads of schedules and traced runs, on pages of any width."""

import pytest

from parcast.pipeline.explaining.explain import explain_pipeline
from parcast.pipeline.explaining.timeline import timeline_of
from parcast.pipeline.traces.trace import read_trace
from parcast.show.terminal import Page, lay_out
from tests.pipeline.explaining.traced import traced


def lines_of(result, width=80, **options):
    """Lay out an answer on a page."""
    return lay_out(result.to_sheet(), Page(width=width, **options))[0]


def text_of(result, width=80):
    """Give the text of an answer, its lines joined by spaces."""
    return " ".join(" ".join(lines_of(result, width)).split())


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6, 8, 16, 17, 32, 64, 100, 128, 256, 1024])
def test_every_size_fits_on_a_screen_of_80_columns(size):
    assert max(map(len, lines_of(explain_pipeline(size)))) <= 80


def test_the_steps_of_eight_ranks_are_a_table():
    lines = lines_of(explain_pipeline(8))
    assert lines[0] == "Parallel pipeline, published schedule: 8 ranks"
    assert lines[6:10] == [
        "start     7     6     5     4     3     2     1   0",
        "1      11>1    <0  10>3    <2   9>5    <4   8>7  <6",
        "2      15>2  13>3    <0    <1  14>6  12>7    <4  <5",
        "3      19>4  18>5  17>6  16>7    <0    <1    <2  <3  0-7",
    ]
    assert "0-3    T  S  M  S  M  S  D" in lines
    assert "merge 1  7: 0-1, 5: 2-3, 3: 4-5, 1: 6-7" in lines


def test_facts_of_the_published_schedule_have_its_figures():
    text = text_of(explain_pipeline(16))
    assert "9 stages (2 lg P + 1): task, 4 x send, 3 x merge, delivery usable 8 stages" in text
    assert "8 of 16 ranks (50%) work on items and 8 merge" in text
    assert "1 (4 messages), 2 (2), 4 and 8 items items each mean 2.5, largest 8" in text
    assert "coefficient of variation 0.84" in text
    assert "14.22, P 2 lg P/(2 lg P + 1) without pipelining 1.778, P/(2 lg P + 1)" in text
    assert "adaptive the default: a rank takes an item whenever no merge waits" in text


def test_the_end_of_the_items_is_described():
    text = text_of(explain_pipeline(4, items=9))
    assert (
        "5 steps after the start; the last item is taken in step 3, 2 steps before the end" in text
    )
    assert "busy 71% of the ranks' time" in text
    assert ".: idle" in text


def test_adaptive_says_what_it_does_on_any_number():
    text = text_of(explain_pipeline(6))
    assert "schedule adaptive: 6 ranks, 24 items" in text
    assert "24 tasks and 23 merges in 11 steps" in text
    assert "It requires a power of two, which 6 is not" in text


def test_many_steps_are_cut_and_said():
    lines, left_out = lay_out(explain_pipeline(2, cycles=100).to_sheet(), Page(width=80))
    assert "the first 40 of 101 steps are shown" in left_out
    assert len(lines) < 80


@pytest.fixture
def run(tmp_path):
    return timeline_of(read_trace(traced(tmp_path / "run.jsonl")))


def test_a_run_is_a_table_of_its_ranks(run):
    lines = lines_of(run)
    assert lines[0].startswith("count words, schedule adaptive: 4 ranks, ")
    rows = [line.split() for line in lines[4:9]]
    assert [row[0] for row in rows] == ["0", "1", "2", "3", "all"]
    assert rows[-1][1:3] == ["40", "39"]
    text = " ".join(lines)
    assert "limited by  computing: ranks compute " in text
    assert "4 cores on 1 host" in text


@pytest.mark.parametrize("width", [40, 48, 80, None])
def test_a_run_fits_on_narrow_pages(run, width):
    assert max(map(len, lines_of(run, width))) <= (width or 400)


def test_hosts_are_named_where_there_are_several(tmp_path):
    facts = {"hosts": ("a", "a", "b", "b"), "cores": 2}
    run = timeline_of(read_trace(traced(tmp_path / "run.jsonl", facts=facts)))
    lines = lines_of(run)
    assert lines[2].split()[:2] == ["rank", "host"]
    assert lines[6].split()[:2] == ["2", "b"]
    assert "2 cores on 2 hosts" in " ".join(lines)


def test_many_ranks_are_cut_and_said(tmp_path):
    run = timeline_of(read_trace(traced(tmp_path / "run.jsonl", 80, 200)))
    _, left_out = lay_out(run.to_sheet(), Page(width=80))
    assert "the first 64 of 80 ranks are shown" in left_out
