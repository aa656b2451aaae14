"""Every program among the examples has times on every machine beside it."""

from pathlib import Path

import numpy as np
import pytest

from parcast.descriptions.toml_files import read_machine, read_program
from parcast.prediction.predict import predict

EXAMPLES = Path(__file__).parents[2] / "examples"
PAIRS = [
    ("btio/program.toml", "btio/sp2.toml"),
    ("qcrd/program.toml", "qcrd/machine.toml"),
    ("checkpoint/program.toml", "checkpoint/nvme.toml"),
    ("checkpoint/program.toml", "checkpoint/nfs.toml"),
    ("arrays/program.toml", "btio/sp2.toml"),
]


@pytest.mark.parametrize(("program", "machine"), PAIRS)
def test_the_described_program_has_times_on_the_machine(program, machine):
    told = predict(
        read_program(EXAMPLES / program), read_machine(EXAMPLES / machine), p=[1, 4, 16]
    )
    assert np.all((told.time > 0) & np.isfinite(told.time))
    assert np.all(told.contention_free <= told.time * (1 + 1e-9))
    assert np.all(np.diff(told.time) < 0)


def test_one_nfs_server_is_slower_than_several_with_nvme_disks():
    program = read_program(EXAMPLES / "checkpoint/program.toml")
    nvme, nfs = (
        predict(program, read_machine(EXAMPLES / f"checkpoint/{name}.toml"), p=[1024]).time[0]
        for name in ("nvme", "nfs")
    )
    assert nfs > 5 * nvme
