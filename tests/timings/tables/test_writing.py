"""`parcast.timings.tables.files`: the text that is printed is that of the file, and reads back."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.timings.columns import axis_name_fault, is_label
from parcast.timings.measurements import Measurements
from parcast.timings.notes import ImportNote
from parcast.timings.tables.files import measurements_pieces, read_measurements, write_measurements

names = st.text(max_size=8).filter(is_label)
axis_names = st.text(max_size=8).filter(lambda x: x != "p" and not axis_name_fault(x))


@st.composite
def tables(draw):
    rows = draw(st.integers(1, 5))

    def column(values):
        return draw(st.lists(values, min_size=rows, max_size=rows))

    finite = st.floats(allow_nan=False, allow_infinity=False)
    columns = {
        name: column(finite) for name in draw(st.lists(axis_names, max_size=2, unique=True))
    }
    for label in draw(st.sets(st.sampled_from(["machine", "callpath"]))):
        columns[label] = column(names)
    if draw(st.booleans()):
        columns["repetition"] = column(st.integers(0, 2**53 - 1))
    times = st.floats(1e-30, 1e30)
    return Measurements(p=column(st.integers(1, 10**9)), time=column(times), **columns)


def test_runs_that_were_stopped_are_read_back_too():
    runs = Measurements(p=[1, 2], time=[8, 4], machine="A", deviation=[0.1, 0.2])
    table = runs.with_cut_off(p=[4, 8], time=[9.5, 60], machine="A")
    text = "".join(measurements_pieces(table))
    assert text.splitlines()[-1] == "8,A,,60.0,timeout"
    with pytest.warns(
        ImportNote, match="2 failed runs left out .timeout.; 2 of them count as lower bounds"
    ):
        assert read_measurements(io.StringIO(text)) == table


@pytest.mark.fault(
    "Output files",
    "Names in CSV that a spreadsheet takes for formulas: `=cmd()`, `@x`, `+x`, `-x`.",
    promise="An apostrophe stands before them, which parcast takes away when it reads them.",
)
def test_names_that_are_formulas_are_none_in_a_spreadsheet_and_read_back(parcast, tmp_path):
    names = ["=cmd|'/c calc'!A1", "@x", "-x", "+y", "'=z", "-5", "a=b", "-"]
    runs = Measurements(p=[1] * len(names), time=[8.0] * len(names), callpath=names)
    path = tmp_path / "runs.csv"
    write_measurements(runs, path)
    cells = [row["callpath"] for row in csv.DictReader(io.StringIO(path.read_text()))]
    assert cells == ["'=cmd|'/c calc'!A1", "'@x", "'-x", "'+y", "''=z", "-5", "a=b", "-"]
    assert read_measurements(path) == runs
    path.write_text("p,time_s,machine\n1,8,=A1\n2,4.5,=A1\n1,8,T3E\n2,4,T3E\n")  # another tool's
    told = parcast("forecast", path, "-p", "4", "-o", "-").out
    assert "\n'=A1," in told
    assert "\nT3E," in told


@given(table=tables())
def test_what_was_written_is_read_back_equal(tmp_path_factory, table):
    path = tmp_path_factory.getbasetemp() / "again.csv"
    write_measurements(table, path)
    assert read_measurements(path, chunk=16) == table


def test_that_p_counts_nodes_is_read_back(tmp_path):
    (tmp_path / "nodes.csv").write_text("nodes,time_s\n1,8\n2,5\n")
    with pytest.warns(ImportNote, match="p is nodes"):
        runs = read_measurements(tmp_path / "nodes.csv")
    write_measurements(runs.select(p=[1, 2]), tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text().splitlines()[:2] == [
        "# parcast: p counts nodes",
        "p,time_s",
    ]
    with pytest.warns(ImportNote, match="p counts nodes"):
        again = read_measurements(tmp_path / "p.csv")
    assert again.measure.counts_nodes
    assert again.p.tolist() == [1, 2]
