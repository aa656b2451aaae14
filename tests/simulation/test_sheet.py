"""`parcast.text.simulation_*`: a simulation on pages of every width, and in a notebook."""

from dataclasses import replace

import numpy as np
import pytest

from parcast.descriptions.breakdown import Breakdown
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.show.terminal import Page, lay_out
from parcast.simulation.result import Simulation


def simulation(p=(1, 2, 4), **changes):
    """Write down what a simulation might say."""
    p = np.array(p, dtype=float)
    shape = (len(p), 2)
    time = np.broadcast_to(8 / p[:, None], shape)
    given = {
        "axes": {"p": p, "network.bandwidth": np.array([1e8, 1e9])},
        "breakdown": Breakdown(
            compute=0.9 * time,
            communication=0.098 * time,
            io=0.002 * time,
            synchronisation=0 * time,
        ),
        "lower": 0.99 * time,
        "upper": 1.01 * time,
        "predicted": time * np.array([1.002, 1.25]),
        "cycles": np.full(shape, 640),
        "ended_by": np.full(shape, "precision"),
        "precision": 0.01,
        "seed": 0,
        "simulated": ("a: whole runs", "b: cycles"),
        "warnings": ("Mind <b>.",),
        "law": "spmd",
        "sources": ("spmd: a paper",),
        "program": "lu",
        "machine": "gort",
        "dimensions": {"network.bandwidth": "rate"},
    }
    return Simulation(**given | changes)


def lines_of(told, width=None, **options):
    return lay_out(told.to_sheet(**options), Page(width=width))[0]


def test_a_wide_page_has_everything():
    assert lines_of(simulation()) == [
        "lu on gort, simulated",
        "",
        "p   network.  time  90 % interval   law  diff.  compute  comm.  I/O",
        "   bandwidth   [s]            [s]   [s]    [%]      [%]    [%]  [%]",
        "1   100 MB/s  8.00   7.92 to 8.08  8.02   +0.2       90     10   <1",
        "2   100 MB/s  4.00   3.96 to 4.04  4.01   +0.2       90     10   <1",
        "4   100 MB/s  2.00   1.98 to 2.02  2.00   +0.2       90     10   <1",
        "1     1 GB/s  8.00   7.92 to 8.08  10.0    +25       90     10   <1",
        "2     1 GB/s  4.00   3.96 to 4.04  5.00    +25       90     10   <1",
        "4     1 GB/s  2.00   1.98 to 2.02  2.50    +25       90     10   <1",
        "",
        "law: time predicted by the law; diff.: difference of the law from the simulation; "
        "compute, comm., I/O: shares of the time",
        "",
        "simulated   a: whole runs",
        "            b: cycles",
        "precision   mean times within +- 1.0 % (90 % interval); requested 1 %",
        "law         spmd: a paper",
        "warning:    Mind <b>.",
    ]


def test_a_narrow_page_leaves_out_the_shares():
    lines = lines_of(simulation(), 60)
    assert "waiting" not in lines[2]
    assert "law" in lines[2]
    assert all(len(line) <= 60 for line in lines)


def test_the_narrowest_page_has_a_few_lines_for_each_point():
    lines = lines_of(simulation(), 40)
    assert lines[2:6] == [
        "p = 1, network.bandwidth = 100 MB/s",
        "  time        8.00 s",
        "    90 % interval 7.92 to 8.08 s",
        "  law         8.02 s (+0.2 %)",
    ]
    one = replace(simulation(), axes={"p": np.array([1.0]), "network.bandwidth": np.array([1e8])})
    lines = lines_of(one, 40)
    assert lines[0] == "lu on gort, p = 1,"


def test_what_the_law_does_not_say_is_said():
    told = simulation(predicted=np.full((3, 2), np.nan))
    assert "none" in lines_of(told)[4]
    assert "  law         none" in lines_of(told, 40)


def test_a_difference_that_is_nothing_has_no_sign():
    told = simulation()
    told = replace(told, predicted=told.time * (1 - 1e-6))
    assert " 0.0 " in lines_of(told)[4]


def test_without_a_precision_none_was_asked_for():
    lines = lines_of(simulation(precision=None))
    assert lines[-3].endswith("(90 % interval)")
    told = simulation()
    wider = replace(told, upper=told.time * np.array([1.01, 1.02]))
    assert "+- 1.0 % to 2.0 %" in lines_of(wider)[-3]


def test_many_points_are_some_unless_all_are_asked_for():
    told = simulation(p=range(1, 101))
    lines, left_out = lay_out(told.to_sheet(), Page())
    assert left_out == ("60 of 200 points are shown. All of them: to_document().")
    assert str(told).endswith(left_out)
    assert len(lines_of(told, show_all=True)) == len(lines) + 140


def test_a_notebook_shows_the_same():
    html = simulation()._repr_html_()
    assert html.count("<tr") == 7
    assert "<th>difference [%]</th>" in html
    assert "Mind &lt;b&gt;." in html
    assert "more rows" not in html
    many = simulation(p=range(1, 101), warnings=())._repr_html_()
    assert "<p>60 of 200 points are shown. All of them: to_document().</p>" in many
    assert "<ul>" not in many


def test_a_table_of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = simulation().to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["difference"].round(3).tolist() == [0.002, 0.25] * 3


def test_it_prints_what_the_command_line_prints():
    told = simulation()
    assert str(told).splitlines() == lines_of(told)
    machine = Machine(name="gort")
    program = Program(phase=[{"law": "spmd", "compute": {"parallel": "8 s"}}])
    from parcast.simulation.simulate import simulate

    assert "a program on gort" in str(simulate(program, machine, p=[1]))
