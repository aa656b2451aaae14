"""Parts of times: columns or metrics beside the time, which are no parameters."""

import io

import numpy as np
import pytest

from parcast.errors import FileProblems, ParameterError
from parcast.timings.measurements import Measurements
from parcast.timings.notes import ImportNote
from parcast.timings.tables.files import read_measurements, write_measurements


def read(text):
    return read_measurements(io.StringIO(text))


def test_columns_of_parts_are_seconds_and_no_axes(tmp_path):
    runs = read("p,n,time_s,disk_ms,compute_s\n1,10,5,1000,3\n2,10,3,,2\n")
    assert [*runs.axes] == ["p", "n"]
    assert runs.parts["compute_s"].tolist() == [3, 2]
    assert np.array_equal(runs.parts["disk_s"], [1, np.nan], equal_nan=True)
    write_measurements(runs, tmp_path / "again.csv")
    assert read_measurements(tmp_path / "again.csv") == runs
    assert not runs.without("disk_s", "compute_s").parts


def test_parts_are_read_beside_times_in_other_units():
    runs = read("p,time_ms,communication_us,disk_hours\n1,5,3000,2\n2,3,1000,2\n")
    assert runs.parts["communication_s"].tolist() == [0.003, 0.001]
    assert runs.axes["disk_hours"].tolist() == [2, 2]


def test_the_only_time_is_no_part():
    with pytest.warns(ImportNote, match="the time is compute_s"):
        runs = read("p,compute_s\n1,5\n2,3\n")
    assert runs.time.tolist() == [5, 3]
    assert not runs.parts


LONG = """callpath,p,n,repetition,metric,value
sort,1,10,1,time_s,5
sort,1,10,1,compute_max,3
sort,1,10,1,compute_mean,2.5
sort,1,10,1,disk,1
sort,1,10,2,disturbed_time,9
sort,1,10,2,disk,4
sort,2,10,1,disk,1.5
sort,2,10,1,time_s,failed
sort,2,10,2,time_s,4
sort,2,10,2,compute_max,2
"""


@pytest.mark.parametrize("chunk", [2**18, 40])
def test_metrics_that_parcast_writes_are_joined_with_the_times_of_their_runs(chunk):
    with pytest.warns(ImportNote, match="1 failed run left out"):
        runs = read_measurements(io.StringIO(LONG), chunk=chunk)
    assert runs.time.tolist() == [5, 4]
    assert runs.parts["compute_s"].tolist() == [3, 2]
    assert np.array_equal(runs.parts["disk_s"], [1, np.nan], equal_nan=True)


def test_repetitions_without_a_number_keep_their_order():
    runs = read("p,metric,value\n1,time_s,3\n1,time_s,4\n1,disk_ms,1\n1,disk_ms,2\n")
    assert runs.parts["disk_s"].tolist() == [0.001, 0.002]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "p,metric,value\n1,disk,x\n1,time_s,3\n",
            "line 2  disk  must be a time of at least 0, got 'x'. Write it as a number.",
        ),
        (
            "p,time_s,disk_s\n1,2,-1\n",
            "line 2  disk_s  must be a time of at least 0, got '-1'. Leave it empty where it is "
            "unknown.",
        ),
    ],
)
def test_what_is_no_time_is_refused_by_its_line(text, says):
    with pytest.raises(FileProblems) as caught:
        read(text)
    assert says in str(caught.value)


def test_a_part_below_0_is_refused():
    with pytest.raises(ParameterError, match="disk_s must be a time of at least 0, got -1"):
        Measurements(p=1, time=2, disk_s=-1)
