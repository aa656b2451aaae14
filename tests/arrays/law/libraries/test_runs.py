"""The laws against real runs on a testbed, with costs that were fitted to other requests."""

import csv
from pathlib import Path

import numpy as np
import pytest

from parcast.arrays.geometry.chunks import mesh_chunks
from parcast.arrays.law.libraries.library import LibraryRequest, LibrarySetting, interval
from parcast.arrays.law.parameters import read_costs
from parcast.arrays.planning.libraries import LIBRARIES

HERE = Path(__file__).parent / "data"
COSTS = read_costs(HERE / "testbed.toml")


def runs_of(name):
    """Requests that were run with a library, their settings and seconds."""
    lines = (HERE / "testbed_runs.csv").read_text(encoding="utf-8").splitlines()
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        if row[name]:
            shape, mesh = ([int(x) for x in row[key].split("x")] for key in ("shape", "mesh"))
            hosts = int(row["hosts"])
            request = LibraryRequest(
                chunks=mesh_chunks(shape, mesh),
                itemsize=8,
                number=int(row["number"]),
                disks=hosts,
                hosts=hosts,
            )
            buffer = 1 << 24 if name.startswith("pio") else int(row["buffer"])
            yield request, LibrarySetting(int(row["cb_nodes"]), buffer), float(row[name])


@pytest.mark.parametrize(
    ("name", "runs", "median", "worst"),
    [
        ("romio", 30, 0.04, 0.18),
        ("file-per-rank", 30, 0.04, 0.07),
        ("pio-box", 19, 0.11, 0.26),  # imitated
        ("pio-subset", 19, 0.09, 0.20),
    ],
)
def test_times_are_near_those_of_runs(name, runs, median, worst):
    assert not COSTS.libraries.unknown
    library, errors, inside = LIBRARIES[name], [], []
    for request, setting, seconds in runs_of(name):
        errors.append(abs(library.time(request, COSTS, setting).time / seconds - 1))
        lower, upper = interval(library, request, COSTS, setting)
        inside.append(lower <= seconds <= upper)
    assert len(errors) == runs
    assert np.mean(np.array(errors) <= 0.25) >= 0.8
    assert np.median(errors) <= median
    assert max(errors) <= worst
    assert np.mean(inside) >= 0.9
