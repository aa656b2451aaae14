"""`examples/stencil`: profiles that are characterised, and two descriptions of one program."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from parcast.characterisation.characterise import characterise
from parcast.descriptions.toml_files import read_machine, read_program
from parcast.kernels.ledger import Alone
from parcast.kernels.stencil import KERNEL
from parcast.prediction.predict import predict
from parcast.timings.read_profiles import read_profiles

EXAMPLE = Path(__file__).parents[2] / "examples" / "stencil"


@pytest.fixture(scope="module")
def told():
    return characterise(read_profiles([EXAMPLE / "runs.jsonl"]).runs)


def test_the_formulas_are_those_of_the_program(told):
    assert [x.name for x in told.regions] == ["halo", "sweep", "change", "checkpoint"]
    halo, sweep, change, checkpoint = told.regions
    assert (sweep.calls, sweep.iterations) == ("20", "(n - 2)^2")
    assert (halo.calls, halo.volume) == ("20", "8 B*n")
    assert (change.calls, change.volume) == ("20", "8 B")
    assert (checkpoint.calls, checkpoint.volume) == ("2", "8 B*n*(n - 2)")
    assert all(x.is_exact for x in told.regions)


def test_regions_and_spmd_describe_the_same_work_and_nearly_the_same_time(told):
    machine = read_machine(EXAMPLE / "machine.toml")
    p, n = [1, 2, 4, 8], [400, 4000]
    regions = predict(told.program, machine, p=p, n=n)
    spmd = predict(read_program(EXAMPLE / "program.toml"), machine, p=p, n=n)
    assert regions.breakdown.io == pytest.approx(spmd.breakdown.io, rel=1e-6)
    assert regions.time == pytest.approx(spmd.time, rel=0.1)


def test_the_counts_of_the_description_are_those_of_a_run(tmp_path):
    run = KERNEL.run(Alone(), 102, directory=tmp_path)
    program = read_program(EXAMPLE / "program.toml")
    (phase,) = program.phase
    at = {"p": 1.0, "n": 102.0}
    amounts = {name: float(amount(at)) for name, amount in phase.amounts()}
    bursts = amounts["cycles"] * amounts["bursts_per_io"]
    assert bursts * amounts["compute.parallel"] == 19 * run.steps[0]
    assert amounts["cycles"] * amounts["io.volume"] == run.disk_bytes


def test_the_program_that_is_shown_can_be_timed(tmp_path):
    place = tmp_path / "jacobi.jsonl"
    for n in ("60", "120"):
        subprocess.run(
            [sys.executable, EXAMPLE / "jacobi.py", n],
            check=True,
            capture_output=True,
            env=os.environ | {"PARCAST_PROFILE": str(place)},
        )
    told = characterise(read_profiles([place]).runs)
    assert {x.name: x.iterations for x in told.regions} == {"setup": "n^2", "sweep": "(n - 2)^2"}
