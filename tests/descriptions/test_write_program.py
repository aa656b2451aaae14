"""`descriptions.toml_files` and `timings.tables.files`: fitted programs out, runs in."""

import io

import pytest

from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import (
    read_machine,
    read_program,
    with_amounts,
    write_description,
)
from parcast.errors import FileProblems
from parcast.timings.tables.files import read_measurements

TWO_PHASES = """\
# What it does.
name = "two"   # a name

[[phase]]
law = "spmd"
name = "solve"
compute = { parallel = "8 s", serial = "1 s" }   # by hand

[[phase]]
law = "spmd"
[phase.communication]
volume = "8 MB / p +- 5%"  # of each
messages = 6  # a number
[phase.io]
kind = 'striped'
volume = "1 MB"
"""
NEW = {
    "solve.compute.parallel": "9 s +- 2%",
    "phase 2.communication.volume": "1.07 * (8 MB / p) +- 3%",
    "phase 2.communication.messages": "6.1",
}


def read_text(text, read):
    return read(io.BytesIO(text.encode()))


def test_amounts_are_replaced_and_nothing_else():
    program = read_text(TWO_PHASES, read_program)
    text = with_amounts(TWO_PHASES, NEW, program)
    expected = (
        TWO_PHASES.replace('"8 s"', '"9 s +- 2%"')
        .replace('"8 MB / p +- 5%"', '"1.07 * (8 MB / p) +- 3%"')
        .replace("messages = 6", 'messages = "6.1"')
    )
    assert text == expected
    parameters = read_text(text, read_program).parameters()
    assert {name: parameters[name].text for name in NEW} == NEW


def test_a_machine_is_written_likewise_with_its_byte_order_mark_and_line_ends(tmp_path):
    text = '\ufeff[network]\r\nlatency = "150 us" # guessed\r\n'
    path = tmp_path / "machine.toml"
    write_description(path, with_amounts(text, {"network.latency": "151 us"}))
    assert path.read_bytes() == b'[network]\nlatency = "151 us" # guessed\n'
    assert read_machine(path).network.latency({}) == pytest.approx(151e-6)


@pytest.mark.parametrize(
    "table",
    [
        "# made\np,d,speedup\n2,1,1.6\n4,2,2.5\n",
        "speedup , p,d\n1.6,2,1\n2.5,4,2\n",
        "p,d,metric,value\n2,1,speedup,1.6\n4,2,speedup,2.5\n",
    ],
)
def test_speedups_are_kept_as_times_over_one_processor_and_disk(table):
    runs = read_measurements(io.StringIO(table))
    assert runs.measure.quantity == "speedup"
    assert runs.time == pytest.approx([1 / 1.6, 0.4])
    assert runs.p.tolist() == [2, 4]
    assert runs.axes["d"].tolist() == [1, 2]


@pytest.mark.parametrize(
    "table",
    [
        "machine,p,speedup\nspeedup,2,1.6\nSP,4,2.5\n",
        'machine,p,"speedup"\nspeedup,2,1.6\nSP,4,2.5\n',
        "machine,p,metric,value\nspeedup,2,speedup,1.6\nspeedup,2,watts,9\nSP,4,speedup,2.5\n",
    ],
)
def test_a_machine_that_is_called_speedup_keeps_its_name(table):
    runs = read_measurements(io.StringIO(table))
    assert runs.measure.quantity == "speedup"
    assert runs.labels["machine"].tolist() == ["speedup", "SP"]
    assert runs.time == pytest.approx([1 / 1.6, 0.4])


def test_faults_of_speedups_are_told_as_such():
    with pytest.raises(FileProblems) as caught:
        read_measurements(io.StringIO("p,speedup\n2,-1\n0,2\n"))
    assert "line 2  speedup  must be a speedup above 0" in str(caught.value)
    assert "line 3  p" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (
            '[[phase]]\nlaw = "sort"\n# The end.\n',
            '[[phase]]\nlaw = "sort"\n# The end.\ncapacities = {compute = "5 Mflop/s"}\n',
        ),
        (
            '[[phase]]\nlaw = "sort"\n[phase.capacities]\ndisk = "1 MB/s"  # old\n',
            '[[phase]]\nlaw = "sort"\n[phase.capacities]\ndisk = "1 MB/s"  # old\n'
            'compute = "5 Mflop/s"\n',
        ),
        (
            'phase = [{law = "sort"}]\n',
            'phase = [{law = "sort",capacities = {compute = "5 Mflop/s"}}]\n',
        ),
    ],
)
def test_amounts_that_the_text_lacks_are_added(text, written):
    keys = {"law": "sort", "capacities": {"compute": "5 Mflop/s"}}
    program = Program(phase=[keys])
    assert with_amounts(text, {"capacities.compute": "5 Mflop/s"}, program) == written
    read_text(written, read_program)
