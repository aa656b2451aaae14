"""`parcast.importers.arrow_tables`: Parquet, Arrow and Feather."""

import sys

import pytest

from parcast.errors import FileProblems
from parcast.importers.registry import import_timings, recognised
from parcast.timings.measurements import Measurements

pa = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")


@pytest.fixture
def table(tmp_path):
    from pyarrow import feather, parquet

    def write(name="t.parquet", **columns):
        path = tmp_path / name
        made = pa.table(columns)
        if path.suffix == ".parquet":
            parquet.write_table(made, path)
        else:
            feather.write_feather(made, path)
        return path

    return write


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow"])
def test_a_table_is_read_as_in_csv(table, name):
    path = table(name, p=[1, 2], n=[10, 10], time_s=[8.0, 4.25])
    assert import_timings(path).measurements == Measurements(p=[1, 2], n=10, time=[8, 4.25])
    assert recognised(path).name == "parquet"


def test_columns_are_understood_by_their_names_and_others_that_are_no_numbers_left_out(table):
    path = table(**{"ranks": [1, 2], "wall [ms]": [8000, 4000], "host": ["a", "a"]})
    told = import_timings(path)
    assert told.measurements == Measurements(p=[1, 2], time=[8, 4])
    assert told.notes == (
        "The column host is left out: it is no number.",
        "p is ranks; the time is wall [ms], in ms.",
    )


def test_text_of_several_values_has_to_be_called_something(table, refusal):
    path = table(p=[1, 1], time_s=[8.0, 4.0], compiler=["gcc", "clang"])
    assert refusal(FileProblems, import_timings, path).endswith("rename={'compiler': 'callpath'}")
    told = import_timings(path, rename={"compiler": "callpath"}).measurements
    assert told.labels["callpath"].tolist() == ["gcc", "clang"]


def test_metric_constants_durations_and_names_of_files(table):
    seconds = pa.array([8 * 10**9, 4 * 10**9], pa.duration("ns"))
    paths = [table(f"{p}ranks.parquet", elapsed=seconds, solve=[1.0, 2.0]) for p in (1, 2)]
    told = import_timings(paths, metric="elapsed", constants={"machine": "T3E"})
    assert told.measurements == Measurements(
        p=[1, 1, 2, 2], time=[8, 4, 8, 4], solve=[1, 2, 1, 2], machine="T3E"
    )
    with pytest.raises(FileProblems, match="must have the same columns as the files before"):
        import_timings([*paths, table("3ranks.parquet", p=[1])])


def test_a_damaged_file_is_refused_and_so_is_one_without_the_library(table, monkeypatch):
    path = table(p=[1], time_s=[8.0])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileProblems, match="file that pyarrow can read, got"):
        import_timings(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "parcast\[parquet\]"'):
        import_timings(path)
