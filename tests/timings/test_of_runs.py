"""What takes times of whole runs refuses rates without the work of a run, and speedups."""

import io
import warnings

import pytest

from parcast.characterisation.characterise import characterise
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.laws.counted import tables_of_counts
from parcast.pipeline.law.constants import calibrate
from parcast.projection.counted import project_counts
from parcast.projection.program import project
from parcast.timings.notes import ImportNote
from parcast.timings.tables.files import read_measurements
from tests.characterisation.test_characterise import plate

HERE = Machine(name="here", network={"latency": "1 ms", "bandwidth": "1 MB/s"})
OLD = Machine(name="old", compute={"rate": "1 Gflop/s"})
COUNTED = Program(
    name="solve", phase=[{"law": "counted", "count": tables_of_counts([{"p": 1, "compute": 8.0}])}]
)
SWEEP = {"name": "sweep", "kind": "loop", "iterations": 1000, "iteration": "2 Mflop"}
LOOPS = Program(name="heat", phase=[{"law": "regions", "region": [SWEEP]}])
ONE = {"p": [1], "time": [8.0]}


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("machine,p,n,ns/day\nold,1,10,10\nold,2,10,20\n", "times of one unit of work"),
        ("machine,p,n,speedup\nold,1,10,1\nold,2,10,2\n", "speedups"),
    ],
)
@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("known", lambda runs: project(LOOPS, HERE, [1], base=OLD, known=runs)),
        ("known", lambda runs: project_counts(COUNTED, HERE, [1], known=runs)),
        (
            "donors",
            lambda runs: project_counts(
                COUNTED, HERE, [1], known=ONE, donors=runs, donor_machines=[OLD]
            ),
        ),
        ("plain", lambda runs: characterise([plate(402, 1)], plain=runs)),
        ("points", calibrate),
    ],
)
def test_rates_and_speedups_are_no_times_of_runs(table, says, name, asked):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportNote)
        runs = read_measurements(io.StringIO(table))
    with pytest.raises(ParameterError, match=f"{name} must be times of runs, got {says}"):
        asked(runs)
