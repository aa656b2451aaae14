"""`parcast.text.prediction_*`: a prediction on pages of every width, and in a notebook."""

import re
from dataclasses import replace

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.prediction.predict import predict
from parcast.prediction.sheet import points_of, spread_out, table_of, time_text
from parcast.show.terminal import Page, lay_out
from parcast.words import axis_value

MACHINE = Machine(name="gort", network={"bandwidth": "10 MB/s", "saturation": "40 MB/s"})


def program(**keys):
    phase = {"law": "spmd", "compute": {"parallel": "8 s", "serial": "1 s"}}
    return Program(name="lu", phase=[phase | keys])


SENDING = program(communication={"volume": "1 MB"})
UNSURE = program(compute={"parallel": "8 s +- 10%"})
UNSURE_SENDING = program(compute={"parallel": "8 s +- 10%"}, communication={"volume": "9 MB"})


def lines_of(prediction, width=None, **options):
    return lay_out(prediction.to_sheet(**options), Page(width=width))[0]


def titles(lines):
    return lines[2].split()


# rows


def columns_of(told):
    return {x.full_title: x.cells for x in table_of(told, points_of(told)).forms[0].columns}


def test_rows_come_block_by_block_with_p_fastest():
    columns = columns_of(predict(SENDING, MACHINE, p=[1, 2], d=[4, 8], interval=False))
    places = list(zip(columns["d"], columns["p"], strict=True))
    assert places == [("4", "1"), ("4", "2"), ("8", "1"), ("8", "2")]
    assert columns["time [s]"][0] == "9.00"


def test_shares_are_of_the_time_at_each_point():
    told = predict(SENDING, MACHINE, p=[1, 2])
    columns = columns_of(told)
    compute, communication = columns["compute [%]"], columns["comm. [%]"]
    assert [float(x) for x in compute] == (
        100 * told.breakdown.compute / told.time
    ).round().tolist()
    share = 100 * told.breakdown.communication / told.time
    assert [float(x) for x in communication] == share.round().tolist()
    assert "I/O [%]" not in columns


def test_shares_have_no_columns_where_all_time_is_computing():
    columns = columns_of(predict(program(), MACHINE, p=[1, 2], interval=False))
    assert list(columns) == ["p", "time [s]", "speedup", "efficiency [%]"]


def test_a_share_that_is_there_is_not_shown_as_nothing():
    told = predict(program(communication={"volume": "1 kB"}), MACHINE, p=[1, 2])
    assert columns_of(told)["comm. [%]"] == ["0", "<1"]


def test_times_are_rounded_as_their_interval_supports():
    columns = columns_of(predict(UNSURE, MACHINE, p=[1, 2]))
    time, speedup = columns["time [s]"][0], columns["speedup"][0]
    lower, upper = columns["90 % interval [s]"][0].split(" to ")
    assert (time, speedup) == ("8.0", "1.0") or len(time) == len(lower)
    assert float(lower) < float(time) < float(upper)


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (3.14159, "3.14"),
        (0.01, "0.0100"),
        (314.159, "314"),
        (31415.9, "31416"),
        (1e9, "1.000000e9"),
    ],
)
def test_a_time_without_interval_has_three_digits_or_all_before_the_point(time, text):
    assert time_text(time) == text


@pytest.mark.parametrize(
    ("value", "dimension", "text"),
    [
        (4096.0, "count", "4096"),
        (1048576.0, "count", "1048576"),
        (0.5, "count", "0.5"),
        (1e18, "count", "1e+18"),
        (33.75e6, "rate", "33.75 MB/s"),
        (0.25, "fraction", "25 %"),
    ],
)
def test_a_value_of_an_axis_is_written_with_its_unit(value, dimension, text):
    assert axis_value(value, dimension) == text


@pytest.mark.parametrize(
    ("values", "most", "kept"),
    [
        ([1, 2, 3], 3, [1, 2, 3]),
        (range(1, 4097), 60, [2**i for i in range(13)]),
        (range(1, 101), 60, [1, 2, 4, 8, 16, 32, 64, 100]),
        (range(1000, 2001), 3, [1000, 2000]),
        (range(10, 1001, 9), 3, [10, 100, 1000]),
        (range(100), 3, [0, 50, 99]),
        ([4, 3, 2, 1], 2, [4, 1]),
    ],
)
def test_some_of_many_values_have_the_first_and_the_last(values, most, kept):
    values = np.array(list(values), dtype=np.float64)
    assert values[spread_out(values, most)].tolist() == kept


# tables


def test_axes_of_one_value_stand_in_the_title():
    told = predict(SENDING, MACHINE, p=[4], d=[2], vary={"network.bandwidth": [5e6]})
    lines = lines_of(told)
    assert lines[0] == "lu on gort, p = 4, d = 2, network.bandwidth = 5 MB/s"
    assert titles(lines)[0] == "time"
    assert len(lines[4].split()) == len(titles(lines))


def test_a_parameter_takes_the_rows_where_p_has_one_value():
    told = predict(SENDING, MACHINE, p=[4], vary={"network.bandwidth": [5e6, 2e7]})
    lines = lines_of(told)
    assert titles(lines)[0] == "network."
    assert lines[3].split()[0] == "bandwidth"
    assert [line.split()[:2] for line in lines[4:6]] == [["5", "MB/s"], ["20", "MB/s"]]


def test_short_blocks_are_told_apart_by_columns_and_long_ones_by_titles():
    short = lines_of(predict(SENDING, MACHINE, p=[1, 2, 4], d=[1, 2]))
    assert titles(short)[:2] == ["d", "p"]
    long = lines_of(predict(SENDING, MACHINE, p=[1, 2, 4, 8], d=[1, 2]))
    assert titles(long)[0] == "p"
    assert "d = 1" in long
    assert "d = 2" in long


def test_columns_leave_as_the_page_becomes_narrower():
    told = predict(UNSURE_SENDING, MACHINE, p=[1, 2, 4])
    seen = [
        {word for word in ("interval", "efficiency", "compute", "limited") if word in lines[2]}
        for lines in (lines_of(told, width) for width in (120, 65, 55, 42))
    ]
    assert seen[0] == {"interval", "efficiency", "compute"}
    assert seen[1] == {"interval", "compute"}
    assert seen[2] == {"interval", "efficiency", "limited"}
    assert seen[3] == {"interval", "limited"}


def test_the_legend_explains_the_columns_that_are_there():
    told = predict(UNSURE_SENDING, MACHINE, p=[1, 2, 4])
    wide, narrow = (" ".join(lines_of(told, width)) for width in (120, 55))
    assert "compute, comm.: shares of the time" in wide
    assert "shares of the time" not in narrow
    assert "speedup: relative to one processor and one disk" in narrow
    assert "waiting:" in wide
    assert "I/O" not in wide.partition("limited by")[0]


@pytest.mark.parametrize(
    "told", [predict(UNSURE, MACHINE, p=[1, 2]), predict(SENDING, MACHINE, p=4)]
)
def test_where_no_table_fits_each_row_is_a_few_lines(told):
    lines = lines_of(told, 10)
    place = [i for i, line in enumerate(lines) if line.startswith("  time")]
    assert len(place) == told.time.size
    assert any(line.startswith("  efficiency") for line in lines)
    assert (told.interval is not None) == ("90 % interval" in " ".join(" ".join(lines).split()))


def test_weak_scaling_is_explained():
    told = predict(program(compute={"parallel": "8 s * p"}), MACHINE, p=[1, 2])
    assert any("speedup: scaled, as the work grows with p" in line for line in lines_of(told))


def test_contention_is_that_at_the_largest_p():
    told = predict(SENDING, MACHINE, p=[8, 2], d=[1, 2])
    (contention,) = (line for line in lines_of(told) if line.startswith("contention"))
    least, most = (float(x) for x in re.findall(r"([0-9.]+) s ", contention))
    assert least == pytest.approx(told.contention_free[0, 1], rel=0.01)
    assert most == pytest.approx(told.single_bus[0, 1], rel=0.01)
    assert contention.startswith("contention  at p = 8, d = 2: ")


def test_contention_that_changes_nothing_is_left_out():
    assert "contention" not in str(predict(program(), MACHINE, p=[1, 2]))
    assert "contention" not in str(predict(SENDING, MACHINE, p=[1, 2], bounds=False))


def test_a_law_without_a_source_is_named():
    told = replace(predict(SENDING, MACHINE, p=[1]), sources=())
    assert "law         spmd" in lines_of(told)


def test_names_from_files_do_not_command_the_terminal():
    phases = [{"law": "spmd", "name": f"\x1b[1m{x}", "compute": {"parallel": "8 s"}} for x in "ab"]
    nasty = Program(name="\x1b[2Jlu", phase=phases)
    machine = Machine(name="\x1bgort", processors=1)
    name = "\x1b[1ma.compute.parallel"
    for counts, values in (([1, 2], [1.0, 2.0]), (range(1, 9), range(1, 9)), ([2], [1.0, 2.0])):
        told = predict(nasty, machine, p=counts, d=[1, 2], vary={name: values})
        for width in (10, None):
            lines, left_out = lay_out(told.to_sheet(), Page(width=width))
            assert "\x1b" not in "".join([*lines, left_out])
        assert "\x1b" in told.program


# grids of times


def test_many_blocks_become_a_grid_of_times():
    told = predict(SENDING, MACHINE, p=[1, 2, 4, 8], d=range(1, 7))
    lines, left_out = lay_out(told.to_sheet(), Page())
    assert lines[2] == (
        "time [s] for p (rows) and d (columns); letter: what limits it (c computing)"
    )
    assert lines[4].split() == ["p", *"123456"]
    assert lines[5].split() == ["1", *["9.00", "c"] * 6]
    assert left_out == "only times are shown. Everything: to_document()."


def test_a_grid_names_what_limits_each_time():
    slow = predict(
        program(communication={"volume": "500 MB"}), MACHINE, p=[1, 2, 4, 8], d=range(1, 7)
    )
    assert set(lines_of(slow)[6].split()[2::2]) == {"m"}


def test_a_grid_has_a_block_for_each_value_of_further_axes_as_far_as_there_is_room():
    told = predict(
        SENDING, MACHINE, p=range(1, 41), d=range(1, 5), n=range(1, 65), vary={"cycles": [1, 2]}
    )
    lines, left_out = lay_out(told.to_sheet(), Page())
    blocks = [line for line in lines if line.startswith("n = ")]
    assert (blocks[0], blocks[-1]) == ("n = 1, cycles = 1", "n = 64, cycles = 2")
    assert "of 40 values of p" in left_out
    assert "of 128 blocks of n, cycles" in left_out
    assert len(lines) < 150


def test_a_grid_is_never_too_narrow_to_be_shown():
    told = predict(SENDING, MACHINE, p=range(1, 100), d=range(1, 100))
    for width in (1, 20, 40, 80):
        lines, left_out = lay_out(told.to_sheet(), Page(width=width))
        assert any(re.match(r" *1 +9.00 c", line) for line in lines)
        assert "of 99 values of d" in left_out


def test_all_rows_are_shown_when_asked_for():
    told = predict(SENDING, MACHINE, p=range(1, 41), d=range(1, 7))
    lines, left_out = lay_out(told.to_sheet(show_all=True), Page())
    assert left_out == ""
    assert len(lines) > 240


def test_a_long_table_is_shortened():
    told = predict(SENDING, MACHINE, p=range(1, 65))
    lines, left_out = lay_out(told.to_sheet(), Page())
    assert [line.split()[0] for line in lines[4:11]] == ["1", "2", "4", "8", "16", "32", "64"]
    says = "7 of 64 values of p are shown. All of them: to_document()."
    assert left_out == says


# Python and notebooks


def test_print_gives_the_table_and_what_is_left_out():
    told = predict(SENDING, MACHINE, p=range(1, 65))
    lines, left_out = lay_out(told.to_sheet(), Page())
    assert str(told) == "\n".join([*lines, left_out])
    few = predict(SENDING, MACHINE, p=[1, 2])
    assert str(few) == "\n".join(lay_out(few.to_sheet(), Page())[0])


def test_a_notebook_shows_the_same_texts():
    told = predict(UNSURE, MACHINE, p=[1, 2], d=[1, 2], law_error=False)
    html = told._repr_html_()
    columns = columns_of(told)
    for time, interval in zip(columns["time [s]"], columns["90 % interval [s]"], strict=True):
        assert f'<td>{time}</td><td style="white-space:nowrap">{interval}</td>' in html
    assert html.count("<tr") == 5
    assert "<li>The interval covers the uncertainty of the parameters" in html
    assert "more rows" not in html


def test_a_notebook_shows_some_of_many_rows_and_escapes_names():
    told = predict(replace_name(SENDING, "<b>lu</b>"), MACHINE, p=range(1, 65), d=range(1, 65))
    html = told._repr_html_()
    assert "&lt;b&gt;lu&lt;/b&gt; on gort" in html
    assert "<ul>" not in html
    assert html.count("<tr") == 1 + 7
    assert "7 of 64 values of p and 7 of 64 values of d are shown" in html


def replace_name(described, name):
    return described.model_copy(update={"name": name})
