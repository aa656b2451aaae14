"""The runs of a program as text, on a wide page and on a narrow one."""

import pytest

from parcast.kernels.command import sizes
from parcast.kernels.sheet import program_words, sheet_of
from parcast.show.terminal import Page, lay_out, listing


def row_of(**changes):
    """A run as a document has it."""
    facts = {
        "program": "sort",
        "p": 2,
        "n": 1000000,
        "repetition": 1,
        "time_s": 0.5,
        "compute_s": [0.25, 0.375],
        "disk_s": 0.0,
        "checkpoint_s": 0.0,
        "restart_s": 0.0,
        "steps": [12000000, 9000000],
        "rate": 33600000.0,
        "messages": [1, 1],
        "sent_bytes": [4000000, 4000000],
        "disk_bytes": 16000000,
        "is_correct": True,
        "cores": 2,
        "disturbed": False,
    }
    return facts | changes


def answer(rows, width=None, warnings=()):
    """Lines of the table."""
    sheet = sheet_of(rows, warnings, title="sort keys", step="comparisons")
    return lay_out(sheet, Page(width=width))[0]


def test_a_run_is_a_row():
    assert answer([row_of()])[:4] == [
        "sort: sort keys",
        "",
        "p        n  time  computing  mean  messages  sent   steps      rate  correct",
        "            [ms]       [ms]  [ms]                          [10^6/s]",
    ]
    assert answer([row_of()])[4] == (
        "2  1000000   500        375   312         2  8 MB  2.10e7      33.6  yes"
    )


def test_repetitions_disks_and_verdicts_are_shown_where_there_are_any():
    rows = [
        row_of(disk_s=0.1),
        row_of(repetition=2, is_correct=False, rate=None),
        row_of(repetition=3, is_correct=None),
    ]
    text = "\n".join(answer(rows))
    for word in ("rep", "disk", "NO", "not checked", "none"):
        assert word in text


def test_times_of_disturbed_runs_are_marked():
    lines = answer([row_of(), row_of(repetition=2, time_s=0.7, disturbed=True)])
    assert [line[17:24] for line in lines[4:6]] == ["500    ", "700~   "]
    assert "~: disturbed by other processes" in lines[-1]
    narrow = answer([row_of(disturbed=True), row_of(repetition=2)], width=40)
    assert "  time       500~ ms" in narrow
    assert "  time       500 ms" in narrow


def test_a_page_of_80_columns_leaves_columns_out():
    lines = answer([row_of(disk_s=0.1, repetition=2)], width=72)
    assert max(map(len, lines)) <= 72
    assert "messages" not in lines[2]
    assert "correct" in lines[2]


def test_a_narrow_page_has_lines_for_each_run():
    lines = answer([row_of(), row_of(repetition=2)], width=40, warnings=["Something."])
    assert "p = 2, n = 1000000, rep = 1" in lines
    assert "  computing  375 ms" in lines
    assert "  rate       33.6 10^6/s" in lines
    assert lines[-1] == "warning:    Something."
    assert max(map(len, lines)) <= 40


@pytest.mark.parametrize(
    ("size", "text"),
    [(2500, "2500"), (4000000, "4e6"), (100000, "1e5"), (1200000, "1200000"), (64, "64")],
)
def test_an_example_can_be_copied(size, text):
    (line,) = listing([program_words("sort", "sort keys", "keys", size)], Page())
    assert line.endswith(f"such as {text}")
    assert sizes(text, "-n") == [size]


def test_programs_are_listed_with_what_n_counts():
    told = [
        program_words("sort", "sort keys", "keys", 4000000),
        program_words("gauss", "eliminate", "unknowns", 1000),
    ]
    assert listing(told, Page()) == [
        "sort   sort keys; n: keys, such as 4e6",
        "gauss  eliminate; n: unknowns, such as 1000",
    ]
    assert listing(told, Page(width=37))[:2] == [
        "sort   sort keys; n: keys, such as",
        "       4e6",
    ]
