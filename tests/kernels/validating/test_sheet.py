"""The answer to `validate` in words: tables wide and narrow, capacities, verdicts, sums."""

from dataclasses import replace

import pytest

from parcast.kernels.validating.result import Capacity
from parcast.kernels.validating.sheet import capacity_text
from parcast.kernels.validating.validate import validate
from parcast.show.terminal import Page, lay_out
from tests.kernels.validating.validated import FakeRunner, lawful, subject


@pytest.fixture(scope="module")
def told():
    return validate("sort", runner=FakeRunner(noise=0.02, cores=2), subject=subject, seed=1)


@pytest.fixture(scope="module")
def two():
    runner = FakeRunner(time=lambda n, p: lawful(n, p) * (n / 1e6) ** 0.4)
    return validate(["sort", "other"], runner=runner, subject=subject)


def lines_of(told, page):
    return lay_out(told.to_sheet(), page)[0]


def test_every_comparison_has_a_line_with_its_facts(told):
    lines = lines_of(told, Page())
    assert lines[0] == "sort: sort keys that nobody has"
    head = next(i for i, line in enumerate(lines) if "predicted" in line)
    assert lines[head].split() == [
        *("n", "n", "over", "p", "predicted", "90", "%", "interval", "measured", "error", "inside")
    ]
    rows = lines[head + 2 : head + 2 + len(told.compared)]
    for row, x in zip(rows, told.compared, strict=True):
        cells = row.split()
        assert cells[:3] == [f"{x.n:,}", f"x{x.factor:.3g}", str(x.p)]
        assert cells[-1] == f"{x.runs_inside}/{len(x.runs)}"
        assert float(cells[-2].rstrip("*")) == pytest.approx(100 * x.error, abs=0.06)
        assert cells[-2].endswith("*") != x.is_inside


def test_the_law_its_capacities_its_counts_and_source_are_told(told):
    text = str(told)
    assert "law         agrees: " in text
    assert "W (steps per second of one processor): 1" in text
    assert "u (network bandwidth): " in text
    assert "steps 1" in text
    assert "sort: Shi c. 1996" in text
    assert "of 24 runs within their 90 % interval" in text


def test_a_narrow_page_leaves_columns_out_and_then_the_table(told):
    for width in (70, 40):
        lines = lines_of(told, Page(width=width))
        assert max(map(len, lines)) <= width
    text = "\n".join(lines_of(told, Page(width=40)))
    assert "  predicted  " in text
    assert "  measured   " in text
    assert "inside" in text


def test_several_programs_have_a_table_and_a_law_that_fails_says_so(two):
    lines = lines_of(two, Page())
    assert "law         disagrees: " in "\n".join(lines)
    last = [line for line in lines if line.startswith(("sort ", "other "))]
    assert len(last) == 2
    assert "disagrees" in last[0]
    assert lines[-1].startswith("overall     median error ")
    narrow = lines_of(two, Page(width=40))
    assert any(line.startswith("program") for line in narrow)


def test_failures_and_what_was_not_compared_are_told(told):
    (program,) = told.programs
    waiting = tuple(replace(x, runs=()) for x in program.comparisons)
    stopped = replace(program, comparisons=waiting, holds=None, verdict=(), ended_by="time limit")
    text = str(replace(told, programs=(stopped,), failures={"gauss": "It was killed."}))
    assert "law         not compared" in text
    assert "stopped by  time limit: nothing was compared" in text
    assert "warning:    gauss failed. It was killed." in text
    assert "median error" not in text
    narrow = lines_of(replace(told, programs=(stopped,)), Page(width=40))
    assert not any("measured   " in line for line in narrow)


def test_what_was_left_out_is_counted(told):
    (program,) = told.programs
    first, second, *others = program.comparisons
    part = (first, replace(second, runs=second.runs[:2]), *(replace(x, runs=()) for x in others))
    stopped = replace(program, comparisons=part, ended_by="interrupted")
    text = str(replace(told, programs=(stopped,)))
    assert "stopped by  interrupted: 6 of 24 runs were made, none at 4 of the 6 sizes and" in text
    part = (*program.comparisons[:-1], replace(program.comparisons[-1], runs=first.runs[:2]))
    text = str(replace(told, programs=(replace(stopped, comparisons=part),)))
    assert "interrupted: 22 of 24 runs were made\n" in text


def test_a_law_that_cannot_be_told_says_so(told):
    (program,) = told.programs
    text = str(replace(told, programs=(replace(program, holds=None, verdict=("why",)),)))
    assert "law         inconclusive: why" in text


def test_a_notebook_shows_the_same_facts(told):
    (program,) = told.programs
    odd = replace(program, program="<b>&", warnings=("less < more",))
    both = replace(told, programs=(odd, program), failures={"x": "<i>"}, left_out=("y", "z"))
    html = both._repr_html_()
    assert "<li>Interrupted before y, z was compared.</li>" in html
    assert "<b>&amp;" not in html.replace("&lt;b&gt;&amp;", "")
    assert "<p><b>&lt;b&gt;&amp;: sort keys" in html
    assert "<li>&lt;b&gt;&amp;: less &lt; more</li>" in html
    assert "<li>x failed. &lt;i&gt;</li>" in html
    assert html.count("<table>") == 3
    assert html.count("<tr") == 2 + 2 * len(program.comparisons) + 3
    assert "<b>law:</b> agrees: " in html
    assert "median error" in html
    bare = replace(program, comparisons=(), holds=None, verdict=())
    html = replace(told, programs=(bare,))._repr_html_()
    assert "<table>" not in html
    assert "<b>law:</b> not compared" in html


@pytest.mark.parametrize(
    ("symbol", "value", "lower", "upper", "says"),
    [
        (
            "W",
            3.1e8,
            3e8,
            3.2e8,
            "W at p = 2 (steps per second of one processor): 3.1e+08/s (3e+08/s to",
        ),
        (
            "W",
            12.0,
            11.0,
            13.0,
            "W at p = 2 (steps per second of one processor): 12.0/s (11.0/s to 13.0/s)",
        ),
        ("u", None, 5e6, None, "u at p = 2 (network bandwidth): at least 5 MB/s"),
        ("u", 5e6, 4e6, None, "u at p = 2 (network bandwidth): 5 MB/s (4 MB/s to unlimited)"),
        ("u", None, None, None, ""),
        ("t0", None, None, 2e-6, "t0 at p = 2 (startup time of a message): at most 2 us"),
        (
            "t0",
            1e-6,
            None,
            2e-6,
            "t0 at p = 2 (startup time of a message): 1 us (unknown to 2 us)",
        ),
    ],
)
def test_a_capacity_is_told_with_its_interval_or_its_bound(symbol, value, lower, upper, says):
    one = Capacity(symbol=symbol, p=2, value=value, lower=lower, upper=upper, unit="")
    assert capacity_text(one).startswith(says)
    assert bool(says) == bool(capacity_text(one))
