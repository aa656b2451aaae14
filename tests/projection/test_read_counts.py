"""`parcast.projection.read_counts`: tables that are read, and every fault with its line."""

import io

import pytest

from parcast.errors import FileProblems
from parcast.projection.read_counts import read_counts

TABLE = """\
# counted by hand
p,compute_s,busiest_s,messages,bytes,in_turn,calls_alltoall,bytes_alltoall,calls_barrier
1,8,8,0,0,0,0,0,1

4,8.4,2.5,400,4e6,150,32,1000,4
"""


def read(text):
    return read_counts(io.StringIO(text))


def problems(text):
    with pytest.raises(FileProblems) as refusal:
        read(text)
    return [(x.line, x.field, x.message) for x in refusal.value.problems]


def test_every_column_is_read():
    [program] = read(TABLE)
    assert program.name == "a program"
    work = program.phase[0].counted
    assert work.p.tolist() == [1.0, 4.0]
    assert work.compute.tolist() == [8.0, 8.4]
    assert work.busiest.tolist() == [8.0, 2.5]
    assert work.messages.tolist() == [0.0, 400.0]
    assert work.volume.tolist() == [0.0, 4e6]
    assert work.in_turn.tolist() == [0.0, 150.0]
    assert work.calls["barrier"].tolist() == [1.0, 4.0]
    assert work.calls["alltoall"].tolist() == [0.0, 32.0]
    assert work.volumes["alltoall"].tolist() == [0.0, 1000.0]


def test_programs_are_told_apart_by_name_and_size():
    found = read('program,n,p,compute_s\nsolve,64,1,8\nsolve,128,1,64\n"sort, fast",64,1,2\n')
    assert [x.name for x in found] == ["solve, n = 64", "solve, n = 128", "sort, fast, n = 64"]


def test_the_busiest_as_a_printed_mean_is_taken():
    [program] = read("p,compute_s,busiest_s\n3,1,0.33333333\n")
    assert program.phase[0].counted.busiest.tolist() == [1 / 3]


PLAIN = "Write it without a unit, and 0 for nothing."


def test_all_faults_of_the_rows_come_back_together():
    text = (
        "program,p,compute_s,busiest_s,messages\n"
        "a,0,8,8,0\n"
        "a,2,fast,3,1\n"
        ",4,8,1,-1\n"
        "a,8,8\n"
        "a,16,8,0.5,1_000\n"
        "a,16,8,0.5,\n"
    )
    assert problems(text) == [
        (2, "p", "must be a whole number of at least 1, got '0'. Count processors from 1."),
        (
            3,
            "compute_s",
            "must be a time above 0, got 'fast'. Write processor seconds as a number.",
        ),
        (4, "program", "must be a name, got nothing. Fill it in."),
        (4, "messages", f"must be a number of at least 0, got '-1'. {PLAIN}"),
        (
            4,
            "busiest_s",
            "must lie between compute_s / p and compute_s, got 1 s with 8 s on 4. It is the "
            "computing of one rank, compute_s that of all.",
        ),
        (
            5,
            "",
            "must have 5 values like the header, got 3. Write decimals with a point, and 0 for "
            "nothing.",
        ),
        (6, "messages", f"must be a number of at least 0, got '1_000'. {PLAIN}"),
        (7, "messages", f"must be a number of at least 0, got nothing. {PLAIN}"),
        (
            7,
            "p",
            "must occur once for a, got 16 in line 6 as well. Distinguish programs by a column "
            "program, and keep one row for each p.",
        ),
    ]


@pytest.mark.parametrize(
    ("header", "faults"),
    [
        ("p,computes", [
            ("computes", "is not a known column. Did you mean compute_s?"),
            ("compute_s", "must be a column. Add processor seconds."),
        ]),
        ("compute_s", [("p", "must be a column. Add the processors of each row.")]),
        ("p,compute_s,p", [("p", "must occur once in the header. Remove one.")]),
        ("p,compute_s,bytes_reduce", [
            ("bytes_reduce", "must have a column calls_reduce as well. Add it.")
        ]),
        ("p,compute_s,", [("column", "is not a known column. Known: program, n, p, ")]),
        ("p,compute_s,bytes_barrier", [("bytes_barrier", "is not a known column. Did you mean ")]),
    ],
)  # fmt: skip
def test_all_faults_of_the_header_come_back_together(header, faults):
    ones = ",".join("1" for _ in header.split(","))
    found = problems(f"{header}\n{ones}\n")
    assert len(found) == len(faults)
    for (line, field, message), (name, says) in zip(found, faults, strict=True):
        assert (line, field) == (1, name)
        assert message.startswith(says)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must contain a table, got nothing. Start it with a line p,compute_s."),
        ("p,compute_s\n", "must have rows below the header, got none. Add one for each p."),
        ('p,compute_s\n1,"8\n', "must be values between commas, got text that cannot be split"),
        ("p,compute_s,bytes\n4,8,100\n", "must be 0 without messages, got 100."),
    ],
)
def test_what_is_no_table_is_refused(text, says):
    assert says in problems(text)[0][2]


def test_faults_of_the_header_and_of_the_rows_come_back_together():
    text = "p,compute_s,busiest_s,mesages,bytes\n0,8,8,0,0\n2,x,3,1,3\n2,8,4,1,-3\n"
    assert [(line, field) for line, field, _ in problems(text)] == [
        (1, "mesages"),
        (2, "p"),
        (3, "compute_s"),
        (4, "bytes"),
        (4, "p"),
    ]


def test_rows_of_a_table_without_its_p_are_not_said_to_repeat_it():
    assert [(line, field) for line, field, _ in problems("P,compute_s\n1,8\n2,x\n")] == [
        (1, "P"),
        (1, "p"),
        (3, "compute_s"),
    ]
