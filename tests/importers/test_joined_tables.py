"""`parcast.importers.joined_tables`: tables in several files."""

import pytest

from parcast.errors import FileProblems, ParameterError
from parcast.importers.registry import import_timings
from parcast.timings.measurements import Measurements


@pytest.fixture
def table(tmp_path):
    def write(name, *rows):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(rows) + "\n")
        return path

    return write


def test_tables_with_counts_are_joined(table):
    paths = [table("a.csv", "p,time_s", "1,8", "2,4"), table("b.csv", "p,time_s", "2,5")]
    told = import_timings(paths)
    assert told.measurements == Measurements(p=[1, 2, 2], time=[8, 4, 5])
    assert told.notes == ()


def test_tables_are_read_as_each_is_alone(table):
    paths = [table(f"{x}.txt", "np;wall [ms]", f"{x};8000,5") for x in (1, 2)]
    told = import_timings(paths)
    assert told.measurements == Measurements(p=[1, 2], time=8.0005)
    assert "p is np; the time is wall [ms], in ms" in told.notes[0]


@pytest.mark.parametrize("name", ["p{}.csv", "{}/run.csv"])
def test_counts_that_the_tables_do_not_have_are_in_their_names(table, name):
    paths = [table(name.format(p), "n,time_s", f"10,{8 / p}", f"10,{9 / p}") for p in (4, 8)]
    told = import_timings(paths, constants={"machine": "T3E"})
    assert told.measurements == Measurements(
        p=[4, 4, 8, 8], n=10, time=[2, 2.25, 1, 1.125], machine="T3E"
    )
    assert told.notes[0].startswith("p is taken from the names of the files: 4 of ")


def test_tables_that_do_not_fit_together_are_refused(table):
    first = table("a.csv", "p,time_s", "1,8")
    with pytest.raises(FileProblems, match="must have the same columns as the files before, p, t"):
        import_timings([first, table("b.csv", "p,n,time_s", "1,2,8")])
    with pytest.raises(FileProblems, match="p  must be a column"):
        import_timings([first, table("c.csv", "n,time_s", "1,8")])
    with pytest.raises(FileProblems, match="got a table of measurements"):
        import_timings([first])
    with pytest.raises(ParameterError, match="which is not recognised"):
        import_timings([table("x.md", "Some words."), table("y.md", "Some words.")])
