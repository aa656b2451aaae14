"""Columns of memory beside the times: read, written, kept with their rows."""

import math

import numpy as np
import pytest

from parcast.errors import FileProblems, ParameterError
from parcast.timings.measurements import Measurements
from parcast.timings.tables.files import measurements_pieces, read_measurements

pytestmark = pytest.mark.filterwarnings("ignore::parcast.timings.notes.ImportNote")

TABLE = """p,time_s,memory_B,memory_total_B,status
1,8,1000,2000,ok
2,4,,3000,ok
4,2,300,,failed
4,2,300,,ok
"""


def written(text, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(text)
    return path


def test_memory_is_no_axis_and_unknown_where_a_cell_is_empty(tmp_path):
    runs = read_measurements(written(TABLE, tmp_path))
    assert [*runs.axes] == ["p"]
    assert runs == Measurements(
        p=[1, 2, 4],
        time=[8, 4, 2],
        memory_B=[1000, math.nan, 300],
        memory_total_B=[2000, 3000, math.nan],
    )
    assert runs.select(p=4).memory["memory_B"].tolist() == [300]
    assert [*runs.without("memory_B").memory] == ["memory_total_B"]


def test_what_is_written_is_read_back_equal(tmp_path):
    runs = read_measurements(written(TABLE, tmp_path))
    assert read_measurements(written("".join(measurements_pieces(runs)), tmp_path)) == runs


def test_a_column_of_another_name_and_unit_is_memory_where_it_is_said(tmp_path):
    path = written("p,time_s,RSS\n1,8,4\n2,4,2.5\n", tmp_path)
    assert [*read_measurements(path).axes] == ["p", "RSS"]
    runs = read_measurements(path, columns={"memory_MiB": "RSS"})
    assert runs.memory["memory_B"].tolist() == [4 * 2**20, 2.5 * 2**20]
    assert [*runs.axes] == ["p"]


def test_wrong_memory_is_refused_at_its_place(tmp_path):
    path = written("p,time_s,memory_B\n1,8,many\n2,4,-3\n", tmp_path)
    with pytest.raises(FileProblems) as caught:
        read_measurements(path)
    assert "line 2" in str(caught.value)
    assert "must be memory above 0, got 'many'" in str(caught.value)
    with pytest.raises(ParameterError, match="memory_B must be memory above 0, got -3"):
        Measurements(p=1, time=1, memory_B=-3)


def test_memory_that_no_row_has_is_none(tmp_path):
    assert not read_measurements(written("p,time_s,memory_B\n1,8,\n2,4,\n", tmp_path)).memory


def test_files_of_which_one_has_memory_are_joined(tmp_path):
    from parcast.importers.registry import import_timings

    paths = [tmp_path / name for name in ("a.csv", "b.csv")]
    paths[0].write_text("p,time_s,memory_B\n1,8,1000\n")
    paths[1].write_text("p,time_s\n2,4\n")
    memory = import_timings(paths, "table").measurements.memory["memory_B"]
    assert np.array_equal(memory, [1000, np.nan], equal_nan=True)


def test_memory_is_not_advised_as_the_time_of_a_table_without_times(tmp_path):
    with pytest.raises(FileProblems) as caught:
        read_measurements(written("p,memory_B\n1,8\n2,4\n", tmp_path))
    assert "time_s" in str(caught.value)
    assert "memory_B'" not in str(caught.value).partition("Name it")[2]


@pytest.mark.parametrize("title", ["memory_GB", "memory [GB]", "Memory (GB)"])
@pytest.mark.parametrize("time", ["time_s", "Wall time (s)"])
def test_memory_in_another_unit_is_no_parameter(title, time, tmp_path):
    rows = [f"{p},{n},{n / p},{n}" for n in (1, 2) for p in (1, 2, 4)]
    path = written("\n".join([f"p,n,{time},{title}", *rows]) + "\n", tmp_path)
    runs = read_measurements(path)
    assert [*runs.axes] == ["p", "n"]
    assert runs.memory["memory_B"].tolist() == [1e9] * 3 + [2e9] * 3
    columns = {name: getattr(runs, name, None) for name in ("p", "time")}
    table = Measurements({**columns, "n": runs.axes["n"], title: [1, 1, 1, 2, 2, 2]})
    assert table.memory["memory_B"].tolist() == runs.memory["memory_B"].tolist()
    with pytest.raises(ParameterError, match="have each column once"):
        Measurements({"p": 1, "time": 1, "memory_B": 1e9, title: 1})
    other = read_measurements(path, columns={"limit": title})
    assert other.axes["limit"].tolist() == [1, 1, 1, 2, 2, 2]
