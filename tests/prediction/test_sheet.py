"""`prediction.sheet`: a prediction on pages of every width, and in a notebook."""

import numpy as np
import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.prediction.predict import predict
from parcast.prediction.sheet import points_of, spread_out, table_of, time_text
from parcast.show.terminal import Page, lay_out

MACHINE = Machine(name="gort", network={"bandwidth": "10 MB/s", "saturation": "40 MB/s"})


def program(**keys):
    phase = {"law": "spmd", "compute": {"parallel": "8 s", "serial": "1 s"}}
    return Program(name="lu", phase=[phase | keys])


SENDING = program(communication={"volume": "1 MB"})


# rows


def columns_of(told):
    return {x.full_title: x.cells for x in table_of(told, points_of(told)).forms[0].columns}


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


def test_a_share_that_is_there_is_not_shown_as_nothing():
    told = predict(program(communication={"volume": "1 kB"}), MACHINE, p=[1, 2])
    assert columns_of(told)["comm. [%]"] == ["0", "<1"]


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (3.14159, "3.14"),
        (0.01, "0.0100"),
        (31415.9, "31416"),
        (1e9, "1.000000e9"),
    ],
)
def test_a_time_without_interval_has_three_digits_or_all_before_the_point(time, text):
    assert time_text(time) == text


@pytest.mark.parametrize(
    ("values", "most", "kept"),
    [
        ([1, 2, 3], 3, [1, 2, 3]),
        (range(1, 4097), 60, [2**i for i in range(13)]),
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


# Python and notebooks


def test_a_notebook_shows_some_of_many_rows_and_escapes_names():
    told = predict(replace_name(SENDING, "<b>lu</b>"), MACHINE, p=range(1, 65), d=range(1, 65))
    html = told._repr_html_()
    assert "&lt;b&gt;lu&lt;/b&gt; on gort" in html
    assert "<ul>" not in html
    assert html.count("<tr") == 1 + 7
    assert "7 of 64 values of p and 7 of 64 values of d are shown" in html


def replace_name(described, name):
    return described.model_copy(update={"name": name})
