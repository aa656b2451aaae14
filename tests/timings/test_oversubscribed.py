"""`timings.oversubscribed`: runs with more ranks than cores are left out, and it is said."""

import shlex

import pytest

from parcast.kernels.kernel import KernelRun
from parcast.kernels.sheet import measurement_rows
from parcast.timings.notes import ImportNote
from parcast.timings.tables.files import read_measurements

ROWS = [(1, 8.0), (2, 4.2), (4, 4.4), (4, 4.6), (8, 4.9)]  # on two cores


def table(rows=ROWS, cores=2):
    """A table as `parcast run` writes it."""
    lines = ["callpath,p,n,repetition,metric,value"]
    for i, (p, time) in enumerate(rows):
        name = "time_s" if p <= cores else "oversubscribed_time"
        lines += [f"sort,{p},1000,{i},{name},{time}", f"sort,{p},1000,{i},cores,{cores}"]
    return "\n".join([*lines, ""])


@pytest.fixture
def runs(file):
    return file(table(), "runs of mine.csv")


SAID = (
    "3 runs were left out: more ranks than cores (p = 4, 8), so that ranks took turns on a core."
)


def test_a_run_names_its_time_by_its_cores():
    def name(p, cores):
        run = KernelRun(
            kernel="sort", p=p, n=9, repetition=1, time=1.0, compute=(1.0,) * p, disk=0.0,
            steps=(1,) * p, messages=(0,) * p, sent=(0,) * p, disk_bytes=0, is_correct=None,
            cores=cores,
        )  # fmt: skip
        return next(measurement_rows([run]))["metric"]

    assert [name(p, 2) for p in (1, 2, 3)] == ["time_s", "time_s", "oversubscribed_time"]
    assert name(4, 4) == "time_s"


def test_rows_with_more_ranks_than_cores_are_left_out_with_a_warning(runs):
    with pytest.warns(ImportNote) as notes:
        read = read_measurements(runs)
    assert read.p.tolist() == [1, 2]
    assert [str(x.message) for x in notes] == [f"{runs}: {SAID}"]
    assert {x.filename for x in notes} == {__file__}


@pytest.mark.parametrize("chunk", [50, 2**18])
def test_they_are_counted_over_all_blocks_of_a_file(runs, chunk):
    with pytest.warns(ImportNote, match="3 runs were left out"):
        assert len(read_measurements(runs, chunk=chunk)) == 2


@pytest.mark.parametrize(
    "command",
    ["forecast {} -p 4", "forecast {} --knee", "fit {program} {}", "match {} --within 2h"],
)
def test_each_command_says_it_in_one_line(runs, parcast, file, command):
    program = file('[[phase]]\nlaw = "spmd"\ncompute = { parallel = "9 s" }\n', "program.toml")
    said = parcast(*shlex.split(command.format(f"'{runs}'", program=program)))
    assert said.err.count("were left out: more ranks than cores (p = 4, 8)") == 1
    assert said.status in (0, 1)


def test_a_table_of_such_runs_alone_is_refused_with_what_takes_them(tmp_path, file, parcast):
    path = file(table(ROWS[2:]), "all.csv")
    said = parcast("forecast", path)
    assert said.status == 3
    assert "All runs had more ranks than cores. To use them all the same: sed s/" in said.err
    (tmp_path / "used.csv").write_text(path.read_text().replace("oversubscribed_time", "time_s"))
    assert parcast("forecast", tmp_path / "used.csv", "-p", 16).status == 0
