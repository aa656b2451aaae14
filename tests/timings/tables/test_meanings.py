"""Titles that look like a time, a rate or processors and are something else, or only a part."""

import io
import warnings

import numpy as np
import pytest

from parcast.errors import FileProblems
from parcast.timings.notes import ImportNote
from parcast.timings.tables.files import read_measurements


def read(text, **options):
    """What is read of a table with decimals of any kind, and the notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ImportNote)
        runs = read_measurements(io.StringIO(text), **options)
    return runs, " ".join(str(x.message) for x in caught)


@pytest.mark.parametrize(
    ("header", "rows", "says"),
    [
        ("p,min,sec", "1,10,30/2,5,10", "parts of one time"),
        ("p,h,min,s", "1,1,10,30/2,1,5,10", "parts of one time"),
        ("p,time (ks)", "1,10/2,5", "got ks"),
        ("p,time [10^3 s]", "1,10/2,5", "got 10^3 s"),
        ("p,runtime_weeks", "1,10/2,5", "got weeks"),
        ("p,runtime,unit", "1,10,ms/2,5,s", "must be the same in all rows, got ms, s"),
        ("p,time_s,unit", "1,10,ms/2,5,ms", "got ms in a column of its own"),
        ("gpus,images/s/GPU", "1,100/2,95", "got that of one gpu. Multiply it"),
        ("p,performance", "1,10/2,5", "it falls with the processors"),
        ("p,time,time.1", "1,10,11/2,5,6", "got time and time.1"),
        ("nodes,tasks_per_node,threads,wall [s]", "1,4,2,9/2,4,2,5", "nodes*tasks_per_node*thr"),
        ("tasks,grid,wall [s]", "1,small,10/2,large,11", "'small'"),
    ],
)
def test_what_could_be_read_wrongly_is_refused(header, rows, says, refusal):
    assert says in refusal(FileProblems, read, f"{header}\n{rows.replace('/', chr(10))}\n")


@pytest.mark.parametrize(
    ("header", "rows", "time"),
    [
        ("ranks,Performance [s/step]", "1,10/2,5", [10, 5]),
        ("ranks,A (s)", "1,10/2,5", [10, 5]),
        ("p,runtime,unit", "1,10,ms/2,5,ms", [0.01, 0.005]),
        ("p,wall_max_ranks [s],wall_avg_ranks [s]", "1,3,2/2,2,1", [3, 2]),
        ("p,run1,run2,mean", "1,1,3,2/2,2,4,3", [1, 2, 3, 4]),
        ("ranks,min,avg,max", "1,9,10,11/2,4,5,6", [10, 5]),
        ("ranks,step_time_ms", "1,10/2,5", [0.01, 0.005]),
        ("ranks,time steps,wall [s]", "1,100,10/2,100,5", [10, 5]),
        ("ranks,start_time,end_time,elapsed_s", "1,0,10,10/2,0,5,5", [10, 5]),
        ("gpus,images/s,images/s/GPU", "1,100,100/2,200,100", [0.01, 0.005]),
        ("ranks,wall [s],lower,upper,index,note", "1,10,9,11,0,x/2,5,4,6,1,y", [10, 5]),
        (",ranks,wall [s]", "0,1,10/1,2,5", [10, 5]),
        ("system,ranks,wall [s]", "A,1,10/A,2,5", [10, 5]),
    ],
)
def test_what_is_clear_is_read(header, rows, time):
    assert read(f"{header}\n{rows.replace('/', chr(10))}\n")[0].time.tolist() == time


@pytest.mark.parametrize(
    ("title", "cell", "deviation"),
    [("std [s]", "1", 1), ("std %", "5", 0.5), ("\u00b1", "1", 1), ("wall_err", "1", 1)],
)
def test_a_deviation_is_that_of_the_time(title, cell, deviation):
    runs, _ = read(f"p,wall [s],{title},mpi_std\n1,10,{cell},2\n2,10,{cell},2\n")
    assert runs.columns["deviation"].tolist() == [deviation, deviation]


def test_a_relative_deviation_without_a_unit_is_left_out():
    runs, notes = read("p,wall [s],rel std\n1,10,0.1\n2,5,0.1\n")
    assert np.isnan(runs.columns.get("deviation", np.nan)).all()
    assert "left out: rel std" in notes


@pytest.mark.parametrize(
    ("title", "good", "bad"),
    [("status", "COMPLETED", "FAILED"), ("exit_code", "0", "137"), ("ok", "yes", "no")],
)
def test_runs_that_failed_by_a_column_of_their_own_are_left_out(title, good, bad):
    runs, notes = read(f"p,time_s,{title}\n1,10,{good}\n2,5,{bad}\n4,3,{good}\n")
    assert runs.columns["p"].tolist() == [1, 4]
    assert f"1 failed run left out ({bad})" in notes


def test_runs_that_are_left_out_and_ended_are_not_called_failed():
    rows = "p,time_s,status\n1,8,ok\n2,4,ok\n4,9,{}\n4,3,{}\n"
    assert "2 runs left out (oversubscribed" in str(read(rows.format(*["oversubscribed"] * 2))[1])
    assert "2 failed runs left out" in str(read(rows.format("disturbed", "failed"))[1])


def test_runs_that_were_stopped_have_bounds():
    rows = "1,10,ok,1e9\n2,5,ok,1e9\n4,60,timeout,\n8,7,failed,1e9\n16,nan,timeout,\n"
    runs, notes = read(f"p,time_s,status,memory_B\n{rows}")
    assert runs.p.tolist() == [1, 2]
    assert (runs.cut_off.p.tolist(), runs.cut_off.time.tolist()) == ([4], [60])
    assert "3 failed runs left out (timeout, failed); 1 of them counts as a lower bound" in notes
    assert read("p,time_s\n1,10\n2,timeout\n")[0].cut_off is None
    rate = read("p,rate [1/s],status\n1,10,ok\n2,20,ok\n4,1,timeout\n")[0]
    assert rate.cut_off is None


def test_the_size_and_the_parameters_are_named():
    runs, notes = read("tasks,cells,flavour,wall [s]\n1,1000,2,10\n2,2000,2,11\n")
    assert runs.columns["n"].tolist() == [1000, 2000]
    assert "n is cells; parameters: flavour" in notes


def test_whole_numbers_beside_three_decimals_could_be_thousands():
    table = "ranks;wall [s]\n1;1.234\n2;950\n4;500\n"
    with pytest.raises(FileProblems, match="could be thousands"):
        read(table)
    assert read(table, decimal="comma")[0].time.tolist() == [1234, 950, 500]
    assert read(table.replace("950", "0.95"))[0].time.tolist() == [1.234, 0.95, 500]
