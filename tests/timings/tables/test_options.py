"""Options of tables together, and what must not depend on how a file is cut into blocks."""

import io
import warnings

import numpy as np
import pytest

from parcast.errors import FileProblems, ParameterError
from parcast.timings.measurements import Measurements
from parcast.timings.tables.files import measurements_pieces, read_measurements


def read(text, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_measurements(io.StringIO(text), **options)


@pytest.mark.parametrize("chunk", [16, 64, 2**18])
def test_deviations_are_kept_wherever_they_stand(chunk):
    rows = [f"{p},{100 / p:.3f}" for p in range(1, 400)]
    for i in (0, 300, 398):
        rows[i] += "\u00b13"
    runs = read("p,time_s\n" + "\n".join(rows) + "\n", chunk=chunk)
    assert np.flatnonzero(~np.isnan(runs.deviation)).tolist() == [0, 300, 398]
    assert len(runs.deviation) == len(runs) == 399


@pytest.mark.parametrize(
    ("text", "options", "deviation"),
    [
        ("p,mean_s,std_s\n1,8,5%\n2,4,10%\n", {}, [0.4, 0.4]),
        ("p,time_ms,e [ms]\n1,8,0.1\n2,4,0.1\n", {"columns": {"deviation": "e [ms]"}}, [1e-4] * 2),
        ("p,time_ms,e\n1,8,0.1\n2,4,0.1\n", {"columns": {"deviation": "e"}}, [1e-4] * 2),
        ("p,time_ms,deviation\n1,8,0.1\n2,4,0.1\n", {}, [1e-4] * 2),
        ("p,time_s,deviation_ms\n1,8,100\n2,4,200\n", {}, [0.1, 0.2]),
    ],
)
def test_a_deviation_has_a_unit(text, options, deviation):
    assert read(text, **options).deviation.tolist() == pytest.approx(deviation)


def test_a_deviation_in_another_unit_than_its_column_is_refused():
    with pytest.raises(FileProblems, match="std_s"):
        read("p,mean_s,std_s\n1,8,5 apples\n2,4,1\n")


def test_a_failed_rank_fails_its_run():
    runs = read("rank,time_s\n0,8\n1,OOM\n0,4\n1,5\n")
    assert (runs.p.tolist(), runs.time.tolist()) == ([2], [5])
    runs = read("rank,time_s,std_s\n0,8,.1\n1,9,.2\n")
    assert runs.deviation.tolist() == [0.2]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("p,run1 (images/s),run2 (images/s)\n1,8,9\n2,14,15\n", {}),
        ("p,A (images/s),B (images/s)\n1,8,9\n2,14,15\n", {"repeats": ["A*", "B*"]}),
        ("p,A (images/s),B (images/s)\n1,8,9\n2,14,15\n", {"wide": "machine"}),
    ],
)
def test_rates_in_several_columns_are_rates(text, options):
    runs = read(text, **options)
    assert runs.time.tolist() == pytest.approx([1 / 8, 1 / 14, 1 / 9, 1 / 15])
    assert runs.measure.unit == "images/s"


@pytest.mark.parametrize(
    "title", ["perf ns/day", "perf: ns/day", "Performance [ns/day]", "ns_per_day"]
)
def test_a_rate_counts_what_its_unit_says(title):
    runs = read(f"p,{title}\n1,8\n2,14\n")
    assert runs.measure.amount == "ns"
    assert runs.time.tolist() == pytest.approx([86400 / 8, 86400 / 14])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rate": "a", "wide": "machine"}, "rate must be left out with wide"),
        ({"rate": "a", "repeats": ["b"]}, "rate must be left out with repeats"),
        ({"wide": "banana"}, "wide must be machine or callpath, got 'banana'"),
        ({"rate": "c"}, "rate must name columns of stream, got 'c'"),
        ({"rate": "p"}, "rate must name a column that is a rate, got 'p'"),
        ({"rate": "time_s"}, "rate must name a column that is a rate, got 'time_s', a time"),
        ({"rate": "a", "ignore": ["a"]}, "rate must name a column that is a rate"),
        ({"columns": {"p": "a*a"}}, "columns must name each factor of a product once"),
    ],
)
def test_options_that_exclude_each_other_are_refused(options, says, refusal):
    assert says in refusal(ParameterError, read, "p,time_s,a,b\n1,8,1,2\n2,4,1,2\n", **options)


def test_work_that_no_time_can_be_made_of_is_refused():
    with pytest.raises(FileProblems, match="must give times between 1e-30 and 1e30 s"):
        read("p,images/s\n1,8\n2,14\n", work="1e300")
    for work in ("1:00:00", "4x2", "100\u00b13"):
        with pytest.raises(FileProblems, match="must be an amount above 0"):
            read("p,images/s\n1,8\n2,14\n", work=work)


def test_what_the_times_are_is_written_and_read_again():
    runs = read("p,SYPD\n1,8\n2,14\n", work="10 years")
    again = read("".join(measurements_pieces(runs)))
    assert again == runs
    assert again.measure.work == 10
    given = Measurements(p=[1, 2], time=[8, 4], deviation=[0.1, np.nan], std=[3, 4])
    again = read("".join(measurements_pieces(given)))
    assert again == given


def test_a_label_that_the_file_has_cannot_come_from_titles_as_well():
    with pytest.raises(FileProblems, match="must come from titles or from a column machine"):
        read("p,machine,A [s],B [s]\n1,x,8,9\n2,x,4,5\n", wide="machine")
