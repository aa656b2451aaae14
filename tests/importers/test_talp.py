"""`parcast.importers.talp`: POP metrics of DLB."""

import json

import pytest

from parcast.importers.registry import import_timings, recognised
from parcast.timings.measurements import Measurements
from tests.importers.refused import refusal

SECOND = 10**9


@pytest.fixture
def talp(tmp_path):
    def write(ranks, cpus=None, name=None, key="Application", **regions):
        common = {"numCpus": cpus or ranks, "numMpiRanks": ranks, "numNodes": 1}
        records = {x: common | {"elapsedTime": time * SECOND} for x, time in regions.items()}
        path = tmp_path / (name or f"talp_{ranks}_{cpus}.json")
        head = {"dlbVersion": "3.5.0", "timestamp": "2025-01-01", "resources": common}
        path.write_text(json.dumps(head | {key: records}))
        return path

    return write


@pytest.mark.parametrize("key", ["Application", "popMetrics"])
def test_each_file_is_a_run_with_its_ranks(talp, key):
    paths = [talp(p, key=key, Global=100 / p) for p in (4, 8)]
    assert import_timings(paths).measurements == Measurements(p=[4, 8], time=[25, 12.5])
    assert recognised(paths[0]).name == "talp"


def test_regions_are_callpaths(talp):
    told = import_timings(talp(4, Global=20, solve=15)).measurements
    assert told == Measurements(p=4, time=[20, 15], callpath=["Global", "solve"])


def test_cpus_are_p_where_they_are_not_the_same_for_each_rank(talp):
    threads = import_timings([talp(1, cpus=c, Global=100 / c) for c in (1, 2, 4)])
    assert threads.measurements.p.tolist() == [1, 2, 4]
    assert threads.notes == (
        "p is the number of CPUs, as they are not the same for each MPI rank.",
    )
    hybrid = import_timings([talp(p, cpus=4 * p, Global=100 / p) for p in (2, 4)])
    assert hybrid.measurements.p.tolist() == [2, 4]
    assert hybrid.notes == ("p is the number of MPI ranks, which ran on 8, 16 CPUs.",)


def test_processes_are_read_where_there_is_no_summary(file):
    rows = [{"rank": i, "elapsedTime": (10 + i) * SECOND} for i in range(4)]
    path = file(json.dumps({"dlbVersion": "3.5", "Process": {"Global": rows}}), "talp.json")
    assert import_timings(path, "talp").measurements == Measurements(p=4, time=13)


def test_a_file_that_cannot_be_used_is_refused(talp, file):
    path = file('{"dlbVersion": "3.5", "Application": {}}', "x.json")
    assert "must have regions with an elapsedTime, got none." in refusal(path, format="talp")
    path.write_text("[]")
    assert "must be an object, as TALP writes it." in refusal(path, format="talp")
    path.write_text('{"Application": {"Global": {"elapsedTime": "long", "numCpus": 2}}}')
    assert "must be a time above 0, got 'long'." in refusal(path, format="talp")
    path.write_text('{"Application": {"Global": {"elapsedTime": 5}}}')
    assert "must have numMpiRanks or numCpus, got neither." in refusal(path, format="talp")
    assert import_timings(path, "talp", constants={"p": 4}).measurements.p.tolist() == [4]
    alone = talp(1, name="talp_np8.json", Global=4)
    assert "got 8 in its name and 1 process in its text" in refusal(alone)
    assert "got only elapsedTime" in refusal(talp(2, Global=1), metric="usefulTime")
