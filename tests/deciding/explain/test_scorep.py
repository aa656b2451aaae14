"""POP efficiencies of Score-P profiles, read as the importer of these reads them."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import parcast
from tests.importers.test_cubex import FakeParser, write_cubex


def test_processes_are_useful_outside_the_functions_of_mpi(tmp_path, monkeypatch):
    times = {
        "main": [1.0, 1.0, 1.0, 1.0],
        "main->solve": [39.0, 29.0, 29.0, 29.0],
        "main->MPI_Allreduce": [10.0, 20.0, 20.0, 20.0],
    }
    parser = type("CubexParser", (FakeParser,), {"times": times})
    monkeypatch.setitem(sys.modules, "pycubexr", SimpleNamespace(CubexParser=parser))
    [told] = parcast.explain(write_cubex(tmp_path / "profile.cubex", times)).problems
    assert told.p.tolist() == [4]
    mean, longest = np.mean([40, 30, 30, 30]), 40
    assert told.values["parallel_efficiency"][0] == pytest.approx(mean / 50)
    assert told.values["load_balance"][0] == pytest.approx(mean / longest)
    assert told.values["communication_efficiency"][0] == pytest.approx(longest / 50)
    assert told.losses[0].region == "main->MPI_Allreduce"
    assert told.losses[0].share == pytest.approx(70 / 200)


def test_barriers_and_what_mpi_calls_are_not_useful(tmp_path, monkeypatch):
    times = {
        "main": [9.0, 1.0, 9.0, 1.0],
        "main->!$omp implicit barrier @a.c:3": [0.0, 8.0, 0.0, 8.0],
        "main->MPI_Allreduce": [1.0, 0.0, 1.0, 0.0],
        "main->MPI_Allreduce->op": [0.0, 1.0, 0.0, 1.0],
    }
    parser = type("CubexParser", (FakeParser,), {"times": times})
    monkeypatch.setitem(sys.modules, "pycubexr", SimpleNamespace(CubexParser=parser))
    [told] = parcast.explain(write_cubex(tmp_path / "profile.cubex", times)).problems
    assert told.values["parallel_efficiency"][0] == pytest.approx(5 / 10)
