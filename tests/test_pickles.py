"""Results survive pickling and copying."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import parcast

ROOT = Path(__file__).parents[1]


def examples():
    """Give one of every result and description that parcast hands out."""
    folder = ROOT / "examples"
    runs = parcast.Measurements(p=[1, 2, 4, 8], time=[100.0, 52.0, 28.0, 16.0])
    machines = parcast.read_measurements(folder / "finite_difference" / "times.csv")
    program = parcast.read_program(folder / "btio" / "program.toml")
    machine = parcast.read_machine(folder / "btio" / "sp2.toml")
    speedups = parcast.read_measurements(folder / "qcrd" / "speedups.csv")
    qcrd = [parcast.read_program(folder / "qcrd" / "program.toml")]
    qcrd += [speedups, parcast.read_machine(folder / "qcrd" / "machine.toml")]
    return {
        "measurements": runs,
        "forecast": parcast.forecast(runs, [16, 32]),
        "donors": parcast.forecast(machines.select(machine="SP", p=[1, 2]), [64], donors=machines),
        "knee": parcast.knee(runs, upto=64)[0],
        "planned run": parcast.plan_runs(runs, [64])[0],
        "program": program,
        "machine": machine,
        "prediction": parcast.predict(program, machine, p=[1, 4]),
        "simulation": parcast.simulate(program, machine, p=[4], replications=2),
        "fit": parcast.fit(*qcrd, interval=False, starts=1),
        "match": parcast.match(machines, p=[16]),
        "profile": parcast.characterise(
            parcast.read_profiles(folder / "stencil" / "runs.jsonl").runs
        ),
    }


EXAMPLES = examples()


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize(
    "again",
    [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)
def test_results_and_descriptions_survive_pickling_and_copying(name, again):
    first = EXAMPLES[name]
    second = again(first)
    assert type(second) is type(first)
    assert (str(second), repr(second)) == (str(first), repr(first))
    if hasattr(first, "to_document"):
        assert second.to_document() == first.to_document()
    if hasattr(first, "times") and name == "program":
        at = {"p": np.array([1.0, 4.0])}
        ours, theirs = (x.times(EXAMPLES["machine"], at).time for x in (first, second))
        assert ours.tolist() == theirs.tolist()
