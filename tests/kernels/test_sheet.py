"""The runs of a program as text, on a wide page and on a narrow one."""

import pytest

from parcast.kernels.command import sizes
from parcast.kernels.kernel import KernelRun
from parcast.kernels.run import KernelRuns
from parcast.kernels.sheet import program_words, sheet_of
from parcast.show.terminal import Page, lay_out, listing

QUIET, SLOW = (1e-5,) * 3, (2e-5,) * 3  # times of a quantum of work beside a run [s]


def run_of(**changes):
    """A run of two ranks."""
    facts = {
        "kernel": "sort",
        "p": 2,
        "n": 1000000,
        "repetition": 1,
        "time": 0.5,
        "compute": (0.25, 0.375),
        "disk": 0.0,
        "steps": (12000000, 9000000),
        "messages": (1, 1),
        "sent": (4000000, 4000000),
        "disk_bytes": 16000000,
        "is_correct": True,
        "cores": 2,
    }
    return KernelRun(**facts | changes)


def answer(runs, width=None):
    """Lines of the table."""
    return lay_out(sheet_of(runs), Page(width=width))[0]


def test_a_run_is_a_row():
    assert answer([run_of()])[:4] == [
        "sort: sort the keys of a file by merging, O(n log n)",
        "",
        "p        n  time  computing  mean  messages  sent   steps      rate  correct",
        "            [ms]       [ms]  [ms]                          [10^6/s]",
    ]
    assert answer([run_of()])[4] == (
        "2  1000000   500        375   312         2  8 MB  2.10e7      33.6  yes"
    )


def test_repetitions_disks_and_verdicts_are_shown_where_there_are_any():
    rows = [
        run_of(disk=0.1),
        run_of(repetition=2, is_correct=False, compute=(0.0, 0.0)),
        run_of(repetition=3, is_correct=None),
    ]
    text = "\n".join(answer(rows))
    for word in ("rep", "disk", "NO", "not checked", "none"):
        assert word in text


def test_times_of_disturbed_runs_are_marked():
    lines = answer([run_of(quanta=QUIET), run_of(repetition=2, time=0.7, quanta=SLOW)])
    assert [line[17:24] for line in lines[4:6]] == ["500    ", "700~   "]
    assert any("~: disturbed by other processes" in line for line in lines)
    narrow = answer([run_of(quanta=SLOW), run_of(repetition=2, quanta=QUIET)], width=40)
    assert "  time       500~ ms" in narrow
    assert "  time       500 ms" in narrow


def test_a_page_of_80_columns_leaves_columns_out():
    lines = answer([run_of(disk=0.1, repetition=2)], width=72)
    assert max(map(len, lines)) <= 72
    assert "messages" not in lines[2]
    assert "correct" in lines[2]


def test_a_narrow_page_has_lines_for_each_run():
    lines = answer([run_of(), run_of(repetition=2, is_correct=False)], width=40)
    assert "p = 2, n = 1000000, rep = 1" in lines
    assert "  computing  375 ms" in lines
    assert "  rate       33.6 10^6/s" in lines
    assert any(line.startswith("warning:") for line in lines)
    assert max(map(len, lines)) <= 40


def test_a_list_of_runs_shows_itself():
    runs = KernelRuns([run_of(), run_of(repetition=2)])
    assert str(runs).splitlines() == answer(runs)
    assert "<table>" in runs._repr_html_()
    assert [row["repetition"] for row in runs.rows()] == [1, 2]
    assert str(KernelRuns()) == "No runs"


@pytest.mark.parametrize(
    ("size", "text"),
    [(2500, "2500"), (4000000, "4e6"), (100000, "1e5"), (1200000, "1200000"), (64, "64")],
)
def test_an_example_can_be_copied(size, text):
    (line,) = listing([program_words("sort", "sort keys", "keys", size)], Page())
    assert line.endswith(f"such as {text}")
    assert sizes(text, "-n") == [size]
