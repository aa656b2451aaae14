"""Descriptions survive pickling and copying; results: `tests/show/test_result.py`."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import parcast

BTIO = Path(__file__).parents[1] / "examples" / "btio"
PROGRAM = parcast.read_program(BTIO / "program.toml")
MACHINE = parcast.read_machine(BTIO / "sp2.toml")


@pytest.mark.parametrize(
    "again", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy]
)
def test_descriptions_survive_pickling_and_copying(again):
    program, machine = again(PROGRAM), again(MACHINE)
    assert (program, machine) == (PROGRAM, MACHINE)
    at = {"p": np.array([1.0, 4.0])}
    assert program.times(machine, at).time.tolist() == PROGRAM.times(MACHINE, at).time.tolist()
