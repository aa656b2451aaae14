"""`parcast.timings.tables.files`: what it reads, what it refuses, and what it writes."""

import csv
import io
import os
import sys
from pathlib import Path

import pytest

from parcast.errors import FileProblems, ParameterError, ParcastError
from parcast.timings.measurements import Measurements
from parcast.timings.tables.files import read_measurements, write_measurements

ONLY_LABELS = (
    "Only callpath and machine may be text: columns={{'machine': {0!r}}}, or leave it out: "
    "ignore=[{0!r}]."
)
PLAIN = Measurements(p=[1, 2], time=[8.0, 4.5])
AXIS = "must be the name of an axis, got"
OPEN = 'an open one. Close it on the same line. Write a " inside quotes twice.'
PAIR = f"value  {AXIS} half of the pair metric,value. Give both, or rename it."
UTF16 = (
    "file  must be UTF-8, got UTF-16. Save it as CSV UTF-8, or convert it: "
    "iconv -f UTF-16 -t UTF-8 < stream > converted.csv"
)
NUL = "must be text, got a NUL byte. Is this a CSV file?"


def read(text, **options):
    return read_measurements(io.StringIO(text), **options)


def refusal(source, **options):
    """What is said about a file, without its name and the number of faults."""
    stream = io.StringIO(source) if isinstance(source, str) else io.BytesIO(source)
    with pytest.raises(FileProblems) as caught:
        read_measurements(stream, **options)
    return [line.strip() for line in str(caught.value).splitlines()[1:]]


# what is read


@pytest.mark.parametrize(
    "file",
    [
        b"p,time_s\n1,8\n2,4.5\n",
        b"p,time_s\n1,8\n2,4.5",
        b"p,time_s\r\n1,8\r\n2,4.5\r\n",
        b"p,time_s\r1,8\r2,4.5\r",
        b"\xef\xbb\xbfp,time_s\n1,8\n2,4.5\n",
        b'"p","time_s"\n"1","8"\n"2","4.5"\n',
        b" p , time_s \n 1 , 8 \n 2 , 4.5 \n",
        b"# source: a talk\n\n  \np,time_s\n#,,,\n1,8\n,\n  \n2,4.5\n\n",
        b"time_ms,p\n8e3,1\n4500.0,2.0\n",
        b"p,metric,value\n1,time_s,8\n1,visits,-3\n2,visits,many\n2, time_s ,4.5\n",
        b"value,p,metric\n8000,1,time_ms\n4500,2,time_ms\n",
        b"p,time_min\n1,0.13333333333333333\n2,0.075\n",
        b"p,time [s]\n1,8\n2,4.5\n",
        b'p,"Time [ms]"\n1,8000\n2,4500\n',
        b"time (ms),p\n8000,1\n4500,2\n",
        b"p,time( min )\n1,0.13333333333333333\n2,0.075\n",
        b"p,metric,value\n1,time [s],8\n2,time [s],4.5\n1,visits,3\n",
    ],
)
@pytest.mark.parametrize("chunk", [1, 7, 2**18])
def test_the_same_table_is_read_however_it_is_written(file, chunk):
    assert read_measurements(io.BytesIO(file), chunk=chunk) == PLAIN


def test_a_stream_of_text_and_standard_input_are_read(monkeypatch):
    assert read("p,time_s\n1,8\n2,4.5\n") == PLAIN
    monkeypatch.setattr(sys, "stdin", io.StringIO("p,time_s\n1,8\n2,4.5\n"))
    assert read_measurements("-") == PLAIN
    file = io.TextIOWrapper(io.BytesIO(b"p,time_s\n1,8\n2,4.5\n"))
    monkeypatch.setattr(sys, "stdin", file)
    assert read_measurements("-") == PLAIN


def test_progress_is_told_in_bytes(file):
    path = file(b"p,time_s\n1,8\n2,4.5\n", "timings.csv")
    told = []
    read_measurements(path, chunk=10, progress=lambda *told_now: told.append(told_now))
    assert told == [(10, 19), (19, 19), (19, 19)]
    told.clear()
    read_measurements(io.BytesIO(path.read_bytes()), progress=lambda *now: told.append(now))
    assert told == [(19, None), (19, None)]


# what is refused: the whole file


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("p,time_s\n1,8\n".encode("utf-16-le"), UTF16),
        ("p,time_s\n1,8\n".encode("utf-16-be"), UTF16),
        (b"\x7fELF\x02\x01\x01\0\0\0\0\n\0", f"line 1  {NUL}"),
        (b"p,time_s\n1,8\n2,\0\n", f"line 3  {NUL}"),
        (
            b"PK\x03\x04\x14\0",
            "file  must be text, got a spreadsheet or zip archive. Save the sheet as CSV UTF-8.",
        ),
        (
            b"\x1f\x8b\x08\0",
            "file  must be text, got a gzip archive. Unpack it: gzip -dc < stream > unpacked",
        ),
        (
            b"1,8\n2,4.5\n",
            "line 1  must name the columns, got numbers. Put a line such as p,time_s above it.",
        ),
        (
            b'p,"time_s\n1,8\n',
            "line 1  must name the columns, got text that cannot be split "
            "(unexpected end of data). Check its quotation marks.",
        ),
        (
            b"p,time_s,\xe9\n1,8,3\n",
            "line 1  must be UTF-8, got the byte 0xe9. Save the file as CSV UTF-8.",
        ),
    ],
)
@pytest.mark.parametrize("chunk", [1, 2**18])
def test_a_file_that_is_no_table_is_refused_with_a_remedy(file, says, chunk):
    assert refusal(file, chunk=chunk) == [says]


@pytest.mark.parametrize(
    "file",
    [
        "How we ran the program\n\nWe took the cluster\non 8 of its nodes.\n",
        "Notes, of last week:\nthe program, on the cluster\n",
    ],
)
def test_prose_is_not_taken_for_a_table(file):
    assert refusal(file) == [
        "line 1  must be a table of timings, got text without rows of numbers. A table has a line "
        "such as p,time_s and below it a line for each run, such as 8,15.2."
    ]


def test_a_line_that_never_ends_is_refused_before_it_is_read():
    told = []
    says = refusal(b"p,time_s\n1," + b"9" * 5_000_000, progress=lambda read, _: told.append(read))
    assert says == [
        "line 2  must be rows of a table, got a line of more than 1 MiB. Is this a CSV file?"
    ]
    assert told[-1] < 2_000_000


# what is refused: the path


def path_refusal(path):
    with pytest.raises(FileProblems) as caught:
        read_measurements(path)
    assert caught.value.path == str(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("times.txt", "times.csv"),
        ("times", "times.csv"),
        ("Times.cvs", "times.csv"),
        ("runs.csv", ""),
        ("b.csv", ""),
        ("old.csv", ""),
    ],
)
def test_only_a_file_whose_name_is_close_is_suggested(tmp_path, asked, meant):
    for name in ("times.csv", "time_of_day.csv", "a.csv"):
        (tmp_path / name).touch()
    (tmp_path / "old").mkdir()
    says = f"Did you mean {tmp_path}/{meant}?" if meant else "Check the name."
    assert path_refusal(tmp_path / asked).endswith(says)


def test_a_folder_that_may_not_be_entered_is_the_one_to_allow(tmp_path, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    closed = tmp_path / "closed"
    monkeypatch.setattr(Path, "open", denied)
    monkeypatch.setattr(os, "access", lambda path, _: not Path(path).is_relative_to(closed))
    assert path_refusal(closed / "inner" / "timings.csv").endswith(f"Allow it: chmod u+x {closed}")


def test_a_file_that_may_not_be_read_says_how_to_allow_it(tmp_path, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    path = tmp_path / "my timings.csv"
    assert path_refusal(path) == (
        f"{path}: 1 problem\n"
        f"  file  must be readable, got permission denied. Allow it: chmod u+r '{path}'"
    )


@pytest.mark.parametrize(
    ("name", "got"), [("a" * 300, "File name too long."), ("a\0", "embedded null byte.")]
)
def test_an_impossible_path_is_refused(name, got):
    assert path_refusal(name).endswith(f"  file  must be readable, got: {got}")


def test_a_device_that_fails_while_it_is_read_is_named():
    class Broken(io.BytesIO):
        name = "/dev/tape"

        def read(self, _):
            raise OSError(5, "Input/output error")

    with pytest.raises(FileProblems) as caught:
        read_measurements(Broken())
    assert str(caught.value) == (
        "/dev/tape: 1 problem\n  file  must be readable, got: Input/output error."
    )


def test_a_stream_opened_with_the_wrong_encoding_is_refused():
    file = io.TextIOWrapper(io.BytesIO(b"p,time_s\n\xe9"), encoding="utf-8")
    with pytest.raises(FileProblems) as caught:
        read_measurements(file)
    assert caught.value.problems[0].message == (
        "must be UTF-8 text, got other bytes. Save it as UTF-8, or open it as bytes."
    )


# what is refused: the header


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (
            "nodes,Cores,time_s",
            "p  must be one column, got nodes, Cores, which could all be. Choose one: "
            "columns={'p': 'nodes'} or columns={'p': 'Cores'}.",
        ),
        (
            "n,time_s",
            "p  must be a column, got n, time_s. Add the processor counts, or name their column: "
            "columns={'p': NAME}.",
        ),
        ("p,n", "time_s  must be a column, got p, n. Name it: columns={'time_s': NAME}."),
        (
            "p,time_s,time (ms)",
            "time (ms)  must be the only time, got time_s as well. Leave one out: "
            "ignore=['time (ms)'].",
        ),
        ("p,time_s,value", PAIR),
        ("p,time_s,p", "p  must appear in the header once, got it twice. Remove one."),
        (",p,time_s", "column 1  must have a name, got nothing. Name it or remove it."),
        ("p,time_s,Machine", f"Machine  {AXIS} that of another column. Rename it to machine."),
    ],
)
def test_a_header_is_corrected(header, says):
    values = ",".join("1" * len(header.split(",")))
    assert refusal(f"# comment\n{header}\n{values}\n") == [f"line 2  {says}"]


def test_faults_of_the_header_and_of_the_rows_come_together():
    assert refusal("p,d,value,time_s\nmany,2,1,8\n2,two,1,4.5\n") == [
        f"line 1  {PAIR}",
        "line 2  p      must be a whole number of at least 1, got 'many'. Write it as a number.",
        f"line 3  d      must be a finite number, got 'two'. {ONLY_LABELS.format('d')}",
    ]


# what is refused: rows


@pytest.mark.parametrize("cell", ["1e400", "1e308", "2.8e26", "2.7e-34", "1e-320", "1e-400"])
def test_a_time_of_a_size_that_nobody_measures_is_refused(cell):
    assert refusal(f"p,time_h\n1,2.7e26\n2,{cell}\n3,2.8e-34\n") == [
        f"line 3  time_h  must lie between 1e-30 and 1e30 s, got '{cell}'. Check its unit."
    ]


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (
            "p,time_s\nfour,8\n",
            "line 2  p  must be a whole number of at least 1, got 'four'. Write it as a number.",
        ),
        (
            "p,n,time_s\n1,thin,8\n",
            f"line 2  n  must be a finite number, got 'thin'. {ONLY_LABELS.format('n')}",
        ),
        (
            "p,repetition,time_s\n1,1.5,8\n",
            "line 2  repetition  must be a whole number of at least 0, got '1.5'. "
            "Number repetitions 1, 2, 3.",
        ),
        (
            "p,machine,time_s\n1,A,8\n2,,4\n",
            "line 3  machine  must be a name, got nothing. Fill it in, or remove the column.",
        ),
        (
            "p,time_s\n1\n",
            "line 2  must have 2 values as the header has, got 1. Fill in the others.",
        ),
        (
            "p,time_s\n1,8,5\n",
            "line 2  must have 2 values as the header has, got 3. "
            "Write decimals with a point, and text with commas in quotes.",
        ),
        (
            'p,machine,time_s\n1,"A,8\n2,B,4\n',
            f"line 2  must close its quotation marks, got {OPEN}",
        ),
        (
            'p,machine,time_s\n1,"A"B,8\n',
            "line 2  must close its quotation marks, got text that cannot be split "
            "(',' expected after '\"'). Write a \" inside quotes twice.",
        ),
        (
            "p,metric,value\n1,visits,8\n1,bytes,3\n",
            "file  metric  must have a time among its metrics, got visits, bytes. "
            "Name one time_s or time_ms.",
        ),
        (
            "p,metric,value\n1,visits,8\n1,time,3\n2,time,3\n",
            "line 3  metric  time must end in its unit, got none. Write time_s or time_ms.",
        ),
        (
            "p,metric,value\n1,time_secs,8\n2,time_secs,4\n",
            'line 2  metric  time_secs must end in a unit of time such as "_s". '
            "Did you mean time_s?",
        ),
        (
            "p,metric,value\n1,time [secs],8\n",
            "line 2  metric  time [secs] must have a unit of time in its brackets, got secs. "
            "Write one of s, ms, us, ns, min, h, d.",
        ),
        (
            "p,metric,value\n1,time_s,8\n1,time_ms,8000\n2,time_ms,4000\n",
            "line 3  metric  time_ms must be the only time, got another as well. "
            "Keep one of them.",
        ),
        (
            "p,metric,value\n1,time_s,8\n2,time_s,-4\n",
            "line 3  value  must be a time above 0, got '-4'. Leave out runs that failed.",
        ),
    ],
)
def test_a_bad_row_is_named_with_its_line_and_a_remedy(file, says):
    assert refusal(file) == [says]


def test_bytes_that_are_not_utf8_are_named_with_their_line():
    file = "p,machine,time_s\n1,Jülich,8\n2,A,4\n4,Jülich,2\n".encode("latin-1")
    assert refusal(file) == [
        "line 2  must be UTF-8, got the byte 0xfc. Save the file as CSV UTF-8.",
        "line 4  must be UTF-8, got the byte 0xfc. Save the file as CSV UTF-8.",
    ]


def test_a_value_in_quotes_does_not_go_on_in_the_next_line():
    assert refusal('p,machine,time_s\n1,"A\nB",8\n') == [
        f"line 2  must close its quotation marks, got {OPEN}",
        "line 3  must have 3 values as the header has, got 2. Fill in the others.",
    ]


def test_a_value_longer_than_csv_allows_is_named():
    assert refusal(f"p,machine,time_s\n1,{'A' * 200_000},8\n") == [
        "line 2  must have values of up to 131072 characters, got more. Shorten them."
    ]


@pytest.mark.parametrize("chunk", range(1, 30))
def test_lines_are_those_of_the_file_whatever_is_between_them(chunk):
    assert refusal("# one\r\n\r\np,time_s\r\n# four\r\n1,0\r\n,\r\n\r\n2,0\r\n", chunk=chunk) == [
        "line 5  time_s  must be a time above 0, got '0'. Leave out runs that failed.",
        "line 8  time_s  must be a time above 0, got '0'. Leave out runs that failed.",
    ]


def test_all_faults_come_together_and_those_alike_are_one():
    with pytest.raises(FileProblems) as caught:
        read("p,time_s\n0,slow\n1\n" + "1,0\n" * 40)
    assert str(caught.value).startswith(
        "stream: 4 problems\n"
        "  line 2  p       must be a whole number of at least 1, got '0'. "
        "Count processors from 1.\n"
        "  line 2  time_s  must be a time above 0, got 'slow'. Write it as a number.\n"
        "  line 3          must have 2 values as the header has, got 1. Fill in the others.\n"
        "  line 4  time_s  must be a time above 0, got '0'. Leave out runs that failed. "
        "Likewise lines 5, 6, 7 and 36 more."
    )
    assert (len(caught.value.problems), caught.value.unlisted) == (4, 0)


# what is written


def test_the_file_is_plain_and_exact(tmp_path):
    runs = Measurements(
        p=[1, 2], n=[0.5, 1e300], time=[0.1, 8], machine='the "big", one', repetition=[1, 2]
    )
    write_measurements(runs, tmp_path / "timings.csv")
    assert (tmp_path / "timings.csv").read_bytes() == (
        b"p,n,machine,repetition,time_s\n"
        b'1,0.5,"the ""big"", one",1,0.1\n'
        b'2,1e+300,"the ""big"", one",2,8.0\n'
    )
    assert os.listdir(tmp_path) == ["timings.csv"]


# Columns to pass over.


def test_a_column_to_be_ignored_must_be_there():
    with pytest.raises(ParameterError) as caught:
        read_measurements(io.StringIO("p,time_s\n1,8\n"), ignore=["tme_s"])
    assert str(caught.value) == (
        "ignore must name columns of stream, got 'tme_s'. Did you mean time_s? There are p, "
        "time_s."
    )


# columns that the file calls otherwise


OTHERWISE = "nodes,seconds,site\n1,8,A\n2,4,A\n"


def test_the_unit_of_a_time_is_that_of_its_new_name_where_its_title_has_none():
    table = "nodes,duration\n1,8\n2,4\n"
    runs = read(table, columns={"p": "nodes", "time_ms": "duration"})
    assert runs.time.tolist() == [0.008, 0.004]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (
            {"p": "node"},
            "columns must name columns of stream, got 'node'. Did you mean nodes? "
            "There are nodes, seconds, site.",
        ),
        (
            {"p": "nodes", "time_s": "seconds", "repetition": "site"},
            "stream: 2 problems\n"
            + "\n".join(
                f"  line {line}  site  must be a whole number of at least 0, got 'A'. "
                "Write it as a number."
                for line in (2, 3)
            ),
        ),
    ],
)
def test_other_names_of_columns_are_checked(columns, says):
    with pytest.raises(ParcastError) as caught:
        read_measurements(io.StringIO(OTHERWISE), columns=columns)
    assert str(caught.value) == says


def test_two_columns_of_one_name_are_named_with_a_remedy():
    with pytest.raises(FileProblems) as caught:
        read_measurements(io.StringIO("p,ranks,time_s\n1,4,8\n"), columns={"p": "ranks"})
    assert str(caught.value) == (
        "stream: 1 problem\n"
        "  line 1  p  must be one column, got p and ranks. Leave one out: ignore=['p']."
    )
    runs = read_measurements(
        io.StringIO("p,ranks,time_s\n1,4,8\n"), columns={"p": "ranks"}, ignore=["p"]
    )
    assert runs == Measurements(p=4, time=8)


# limits, and rows that are read many at once


@pytest.mark.parametrize(
    ("name", "most", "says"),
    [
        ("MOST_ROWS", 2, "must have at most 2 rows, got more. Split it into several files."),
        ("MOST_CELLS", 8, "must have at most 8 values in its 3 columns, got more. Split it"),
        ("MOST_NAMES", 2, "must have at most 2 different names, got more. Split it into"),
        ("MOST_TEXT", 2, "must have at most 2 characters in its names, got more. Split it"),
    ],
)
def test_more_than_fits_into_memory_is_refused(name, most, says, monkeypatch):
    monkeypatch.setattr(f"parcast.timings.tables.rows.{name}", most)
    assert says in refusal("callpath,p,time_s\na,1,8\nb,2,4\nc,4,2\n")[0]


def test_a_table_of_nothing_but_faults_is_given_up():
    """Ten million wrong rows would take minutes, and say nothing more."""
    told = []
    rows = b"p,time_s\n" + b"1,fast\n" * 50_000
    with pytest.raises(FileProblems) as caught:
        read_measurements(
            io.BytesIO(rows), chunk=2**14, progress=lambda read, _: told.append(read)
        )
    assert caught.value.problems[0].line == 2
    assert told[-1] < len(rows) / 2


@pytest.mark.parametrize(
    "rows",
    [
        ["main_loop,1,8", "solve,2,4"],
        ["#no row,1,8", "solve,2,4"],
        [",,", "solve,2,4", "", "main,1,8"],
        ["  a b ,1,8", "\tc,2, 4 "],
        ['"a,b",1,8', "c,2,4"],
        ["J\u00fclich,1,8", "\u6771\u4eac,2,4e0"],
        ["a,1_0,8", "b,2,4"],
        ["a,\u0661,8", "b,2,4"],
        ["a,1", "b,2,4,5"],
        ["a,1,8,9", "b"],
        ["a,1,slow", "b,2,4"],
        ["a,0x1,8", "b,2,4"],
        [",1,8", "b,2,4"],
        ["x" * 140_000 + ",1,8", "b,2,4"],
    ],
    ids=range(14),
)
def test_rows_read_at_once_are_those_read_one_by_one(rows, monkeypatch):
    """The quick way takes what the other takes, and leaves to it what has a fault."""
    text = "\n".join(["callpath,p,time_s", "main,4,1", *rows])

    def answer():
        try:
            runs = read(text, chunk=32)
        except FileProblems as problems:
            return str(problems)
        return {name: column.tolist() for name, column in runs.columns.items()}

    at_once = answer()
    monkeypatch.setattr("parcast.timings.tables.rows.ColumnsRead.add_plain", lambda *_: False)
    assert answer() == at_once


def test_more_processors_than_any_machine_has_are_refused():
    assert refusal("p,time_s\n1000000000,1\n1000000001,1\n") == [
        "line 3  p  must be at most 1e9, got '1000000001'. No machine has more."
    ]


@pytest.mark.fault(
    "Output files",
    "The disk is full.",
    promise="The file is named; what was there before stays; no draft is left.",
)
def test_a_file_is_never_left_half_written(tmp_path, monkeypatch):
    path = tmp_path / "timings.csv"
    write_measurements(PLAIN, path)

    class Full:
        def writerow(self, _):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(csv, "writer", lambda *_, **__: Full())
    with pytest.raises(FileProblems) as caught:
        write_measurements(PLAIN.select(p=1), path)
    assert str(caught.value) == (
        f"{path}: 1 problem\n"
        "  file  must be writable, got: No space left on device. Choose another place."
    )
    assert os.listdir(tmp_path) == ["timings.csv"]
    assert read_measurements(path) == PLAIN


def test_more_columns_than_a_table_has_are_refused():
    header = ",".join(["p", "time_s", *(f"n{i}" for i in range(999))])
    says = refusal(f"{header}\n")
    assert says == [
        "line 1  must have at most 1,000 columns, got 1,001. Leave out those that are not needed."
    ]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    assert path_refusal(tmp_path / "nowhere" / "x.csv") == (
        f"{tmp_path}/nowhere/x.csv: 1 problem\n"
        f"  file  must exist, but there is no folder {tmp_path}/nowhere. Check the path."
    )


@pytest.mark.parametrize(
    ("one", "two", "name"),
    [
        ("compute_s", "compute_ms", "compute_s"),
        ("compute_ms", "compute_s", "compute_s"),
        ("memory_GB", "memory_B", "memory_B"),
        ("memory_GB", "memory_MB", "memory_B"),
    ],
)
def test_one_column_in_two_units_is_refused(tmp_path, one, two, name):
    path = tmp_path / "t.csv"
    path.write_text(f"p,time_s,{one},{two}\n1,8,1,2\n2,5,1,2\n")
    with pytest.raises(FileProblems, match=f"{name}  must be one column, got {one} and {two}."):
        read_measurements(path)
    assert len(read_measurements(path, ignore=[one, two])) == 2
