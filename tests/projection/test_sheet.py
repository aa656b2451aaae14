"""`parcast.projection.sheet`: pages where parts of the time have no room."""

import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.projection.counted import project_counts
from parcast.projection.sheet import sheet_of
from parcast.show.terminal import Page, lay_out

COUNTS = [{"p": 1, "compute": "8 s"}, {"p": 4, "compute": "8 s", "busiest": "2.2 s"}]


@pytest.mark.parametrize(("width", "has_legend"), [(None, True), (36, True), (24, False)])
def test_a_page_without_room_for_parts_does_not_explain_them(width, has_legend):
    program = Program(phase=[{"law": "counted", "count": COUNTS}])
    told = project_counts(program, Machine(), [1, 4], known={"p": [1], "time": [8.0]})
    lines, _ = lay_out(sheet_of(told), Page(width=width))
    assert any("90 % interval" in line for line in lines)
    assert ("modelled time" in " ".join(lines)) == has_legend
