"""Tables as people have them: each is read with the numbers that it says, or refused in words.

The files in `data` have the shape of files and reports found in public.
"""

import csv
import io
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import FileProblems
from parcast.timings.measurements import Measurements
from parcast.timings.notes import ImportNote
from parcast.timings.tables.files import read_measurements
from parcast.units import TIME_UNITS

DATA = Path(__file__).parent / "data"


def noted(source, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        runs = read_measurements(source, **options)
    assert all(x.category is ImportNote for x in caught)
    return runs, " ".join(str(x.message).partition(": ")[2] for x in caught)


def read(text, **options):
    return noted(io.StringIO(text), **options)


def refusal(source, **options):
    stream = io.StringIO(source) if isinstance(source, str) else source
    with pytest.raises(FileProblems) as caught:
        read_measurements(stream, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("file", "p", "time", "note"),
    [
        ("ms.csv", [1, 2, 4, 8], [80.1, 41.5, 22.3, 12.9], "left out: efficiency_pct"),
        ("unitrow.csv", [1, 2, 4], [100, 51, 27], "units are in the row below the titles"),
        ("missing.csv", [1, 2], [100.2, 51], "6 failed runs left out (OOM, -, timeout"),
        ("bash_time.csv", [1, 2, 4], [100.22, 52.1, 27.3], ""),
        ("thousands.csv", [1, 2, 4], [12345.6, 6300.2, 3210.9], ""),
        ("excel_sep.csv", [1, 2, 4], [123.6, 63.2, 32.9], "semicolons and decimal commas"),
        ("aligned.txt", [1, 2, 4, 16], [100, 52, 28, 11], "separated by blanks; p is ranks"),
        ("units_in_cells.csv", [1, 2, 4, 8], [1.464, 0.78819, 0.4125, 0.22103], "median"),
        ("box.txt", [1, 2, 4], [1.464, 1.475, 1.475], "ranks (1, 4) is read as 4"),
        ("ranks.csv", [8], [307.6], "p is their number, the time the largest"),
    ],
)
def test_a_table_is_read_as_it_is_and_what_was_understood_is_said(file, p, time, note):
    runs, said = noted(DATA / file)
    assert runs.p.tolist() == p
    np.testing.assert_allclose(runs.time, time, rtol=1e-12)
    assert note in said


@pytest.mark.parametrize("file", ["pm.csv", "std.csv"])
def test_deviations_are_no_times(file):
    runs, _ = noted(DATA / file)
    assert len(runs) == 4
    assert runs.deviation.tolist() == pytest.approx(
        [3, 1.2, 0.8, 0.4] if file == "pm.csv" else [1, 1, 0.5, 0.4]
    )


def test_repetitions_in_columns_are_runs():
    runs, said = noted(DATA / "runs.csv")
    assert len(runs) == 20
    assert runs.time[runs.p == 8].tolist() == [15.3, 15.2, 15.1, 15.6, 15.4]
    assert "repetitions in 5 columns" in said


def test_a_rate_is_never_a_time():
    runs, said = noted(DATA / "sypd.csv")
    np.testing.assert_allclose(runs.time[[0, -1]], [57600, 3456])
    assert "SYPD is a rate: the time is that of one simulated year" in said
    assert runs.measure.rates(runs.time).tolist() == pytest.approx([1.5, 7.25, 15.3, 25])
    ten, _ = noted(DATA / "sypd.csv", work="10 years")
    np.testing.assert_allclose(ten.time, 10 * runs.time)


def test_a_speedup_is_a_relative_time():
    runs, _ = noted(DATA / "speedup.csv")
    np.testing.assert_allclose(runs.time, [1 / 3.72, 1 / 4.77, 1 / 5.21])
    assert runs.measure.quantity == "speedup"


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("markdown.md", "wide='machine'"),
        ("jube.dat", "columns={'p': 'nodes'} or columns={'p': 'tasks'}"),
        ("sacct.txt", "sacct --parsable2"),
        ("lammps.log", "got the log of a program"),
    ],
)
def test_what_has_several_readings_or_none_is_refused_with_what_decides(file, says):
    assert says in refusal(DATA / file)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("p,wall_s,elapsed_s\n1,9,8\n2,5,4\n", "got wall_s, elapsed_s, which could all be."),
        (
            "p,compute_s,disk_s\n1,9,8\n2,5,4\n",
            "must be given, got only compute_s, disk_s, which are parts of a time.",
        ),
        ("p,time_s,GB/s\n1,10,1\n2,5,3\n", "GB/s  contradicts time_s"),
        ("p,runtime\n1,10 ms\n2,5\n", "must have its unit as other cells have, got '5'"),
        ("p,time_s\n1,10 ms\n2,5\n", "must be a time, got '10 ms' in a column in s"),
        ("p;t_s\n1;12,345\n2;6,123\n", "decimal='point' or decimal='comma'"),
        ("p;t_s\n1;0,5\n2;0.25\n", "must have one decimal mark, got '0,5' and '0.25'"),
        ("p t,s x\n1 100,5 200,7\n2 500,3 200,7\n", ""),
        ("ranks,SYPD,ns/day\n1,1,2\n2,2,4\n", "got the rates SYPD, ns/day. Choose one: rate="),
        ("p,elapsed\n1,1:30\n2,0:50\n", "got '1:30'. Write it as 0:12:30"),
        ("rank,time_s\n1,9\n2,8\n3,7\n", "columns={'p': 'rank'} or columns={'rank': 'rank'}"),
        ("nodes,tasks,time_s\n1,48,9\n2,96,5\n", "columns={'p': 'tasks'}"),
        ("p,version,time_s\n1,a,9\n1,b,8\n2,a,5\n", "columns={'machine': 'version'}"),
        ("p,cpu_time_s\n1,9\n2,9\n", "must be a column, got p, cpu_time_s"),
        ("p,core-hours\n1,9\n2,9\n", "must be a column, got p, core-hours"),
        ('{"p": [1, 2]}\n', "got JSON that no importer knows"),
        ("[[phase]]\n[phase.compute]\n", "got the description of a program. Predict with it: "),
        ("processors = 2\n[compute]\n", "got the description of a machine. Predict with it: "),
    ],
)
def test_a_choice_is_left_to_the_user(text, says):
    if says:
        assert says in refusal(text)
    else:
        assert read(text)[0].time.tolist() == [100.5, 500.3]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"work": "10"}, "requires a rate, but the table has times"),
        ({"rate": "speed", "work": "0"}, "must be an amount above 0, got '0'"),
        ({"rate": "speed", "work": "3 bananas"}, "must be an amount above 0"),
    ],
)
def test_work_needs_a_rate_and_an_amount(options, says):
    text = "p,speed\n1,2\n2,4\n" if "rate" in options else "p,time_s\n1,8\n2,4\n"
    assert says in refusal(text, **options)


@pytest.mark.parametrize(
    ("text", "p", "time"),
    [
        ("ranks,threads,time_s\n1,1,10\n2,2,5\n", [1, 4], [10, 5]),
        ("nodes,ppn,walltime (h:mm)\n1,4,1:30\n2,4,0:50\n", [4, 8], [5400, 3000]),
        ("# p time\n1 10\n2 5\n", [1, 2], [10, 5]),
        ("#nodes,time_s\n1,10\n2,5\n", [1, 2], [10, 5]),
        ("p,time_min,time_max,time_avg\n1,1,3,2\n2,1,2,1.5\n", [1, 2], [2, 1.5]),
        ("p,time_min\n1,1\n2,0.5\n", [1, 2], [60, 30]),
        ("p,real,user,sys\n1,10,9,1\n2,5,9,1\n", [1, 2], [10, 5]),
        ("rank,time_s\n0,1\n1,2\n0,1\n1,1\n2,3\n", [2, 3], [2, 3]),
        ("Scaling on X\n\nranks  wall time [s]\n1  10\n2  5.5\n", [1, 2], [10, 5.5]),
        ("cores,run,runtime [s]\n1,1,10\n1,2,11\n2,1,5\n", [1, 1, 2], [10, 11, 5]),
        ("p,version,time_s\n1,a,10\n2,a,5\n", [1, 2], [10, 5]),
        ("threads;elapsed\n1;1.234,5 s\n2;0,5 s\n", [1, 2], [1234.5, 0.5]),
        ("sep=!\np!time_s\n1!10\n2!5\n", [1, 2], [10, 5]),
    ],
)
def test_one_reading_is_taken(text, p, time):
    runs, _ = read(text)
    assert runs.p.tolist() == p
    np.testing.assert_allclose(runs.time, time)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('"p" "time_s"\n"1" 1 10\n"2" 2 5\n', "got 3. If rows begin with their names, name that"),
        ("p\ttime_s\na\t1\t10\nb\t2\t5\n", "got 3. If rows begin with their names, name that"),
        ("p time_s\na b 1 10\nc d 2 5\n", "got 4. Put text with blanks in quotes."),
        ("p time_s why not\n1 10\n", "got 2. Fill in the others, or join the words of a title by"),
        ("p,time_s,a\n1,10\n", "got 2. Fill in the others."),
    ],
)
def test_a_row_that_is_not_as_wide_as_the_header_is_refused_with_what_to_do(text, says):
    assert f"as the header has, {says}" in refusal(text)


def test_utf16_is_read():
    text = "p\ttime_s\r\n1\t8\r\n2\t4.5\r\n"
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        mark = b"" if encoding == "utf-16" else "\ufeff".encode(encoding)
        runs, _ = noted(io.BytesIO(mark + text.encode(encoding)), chunk=3)
        assert runs == Measurements(p=[1, 2], time=[8, 4.5])


def test_a_run_without_any_time_left_is_refused():
    assert "must have a run that ended, got 2 that failed" in refusal("p,time_s\n1,OOM\n2,-\n")


# tables made of all that may be

NAMES_OF_P = ["p", "np", "ranks", "nranks", "nprocs", "processes", "tasks", "cores", "threads"]
NAMES_OF_P += ["nodes", "gpus", "workers", "executors"]
NAMES_OF_TIME = ["time", "wall", "walltime", "elapsed", "runtime", "duration", "real", "TTS"]
SPELLED = {
    "s": ["s", "sec", "seconds"],
    "ms": ["ms", "msec", "milliseconds"],
    "us": ["us", "\u00b5s", "usec"],
    "min": ["min", "minutes"],
    "h": ["h", "hours"],
}
FORMS = [
    "{name} [{unit}]",
    "{name} ({unit})",
    "{name}/{unit}",
    "{name}_{unit}",
    "{name} in {unit}",
]
RATES = {"SYPD": 86400, "ns/day": 86400, "samples/s": 1, "steps/s": 1, "it/s": 1, "Mflop/s": 1}
RATES |= {"GB/s": 1, "unknowns/s": 1}
SEPARATORS = [",", ";", "\t", "|", "  "]


def line(cells, separator):
    """A row of a table, with quotes where they are needed."""
    if separator == "|":
        return f"| {' | '.join(cells)} |"
    if separator == "  ":
        return "  ".join(f"{cell:>24}" for cell in cells)
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator, lineterminator="").writerow(cells)
    return stream.getvalue()


@st.composite
def tables(draw):
    """A table, its options, and what it says: p and times in seconds."""
    separator = draw(st.sampled_from(SEPARATORS))
    decimal = draw(st.sampled_from([".", ","]))
    counts = draw(st.lists(st.integers(1, 4096), min_size=3, max_size=7, unique=True))
    numbers = draw(
        st.lists(st.integers(11, 9_999_999), min_size=len(counts), max_size=len(counts))
    )
    values = [x / 100 for x in numbers]
    rate = draw(st.sampled_from([None, None, *RATES]))
    unit = draw(st.sampled_from(list(SPELLED)))
    where = "title" if rate else draw(st.sampled_from(["title", "cells", "row"]))
    spelled = draw(st.sampled_from(SPELLED[unit]))
    name = draw(st.sampled_from(NAMES_OF_TIME))
    title = rate or name
    if not rate and where == "title":
        title = draw(st.sampled_from(FORMS)).format(name=name, unit=spelled)
    cells = [f"{x:.2f}".replace(".", decimal) for x in values]
    if where == "cells":
        cells = [f"{cell} {spelled}" for cell in cells]
    failed = draw(st.sampled_from(["", "OOM", "-", "timeout", "DNF", "failed"]))
    rows = [[draw(st.sampled_from(NAMES_OF_P)), title]]
    rows += [["-", f"[{spelled}]"]] if where == "row" else []
    rows += [[str(p), cell] for p, cell in zip(counts, cells, strict=True)]
    rows += [["5000", failed]] if failed else []
    text = "\n".join(line(row, separator) for row in rows)
    if separator == "|":
        head, *below = text.split("\n")
        text = "\n".join([head, "|---|---|", *below])
    si = [RATES[rate] / x if rate else x * TIME_UNITS[unit] for x in values]
    return text + "\n", counts, si


@given(tables())
def test_a_table_of_any_names_units_and_separators_is_read_truly(table):
    text, p, time = table
    runs, _ = read(text)
    assert runs.p.tolist() == p
    np.testing.assert_allclose(runs.time, time, rtol=1e-9)
