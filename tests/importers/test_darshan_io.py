"""`parcast.importers.darshan_io`: what a job did to files, in each form of a log.

Samples are in the form that the tools print; the binary log is read through a small fake of
pydarshan, as in test_darshan.py.
"""

import json

import numpy as np
import pytest

from parcast.errors import FileProblems
from parcast.importers.darshan_io import Shared, read_job_io
from tests.conftest import ROOT
from tests.importers.test_darshan import DATA, HEAD, OLD, REPORT, STATS, TEXT, standing_for

LOG = ROOT / "examples" / "arrays" / "darshan.txt"
MIB = 1 << 20


def log_of(path, records, ranks=4):
    """Write a text of darshan-parser: (module, rank, id, file, counters)."""
    lines = [
        "# darshan log version: 3.41\n# exe: ./a.out\n# start_time: 1\n# end_time: 11\n"
        f"# nprocs: {ranks}\n# run time: 10.5"
    ]
    lines += [f"# {name} module: 9 bytes (compressed)" for name in {x[0]: 0 for x in records}]
    for module, rank, number, file, counters in records:
        prefix = module.replace("-", "")
        times = {f"F_{x}_TIME": 0.5 for x in ("READ", "WRITE", "META", "SLOWEST_RANK")}
        for name, value in (counters | times).items():
            fields = (module, rank, number, f"{prefix}_{name}", value, file, "/", "lustre")
            lines.append("\t".join(map(str, fields)))
    path.write_text("\n".join(lines) + "\n")
    return path


def writes(size, count=1, **more):
    return {"WRITES": count, "BYTES_WRITTEN": size, "READS": 0, "BYTES_READ": 0} | more


def test_a_shared_file_of_all_ranks():
    job = read_job_io(LOG)
    assert (job.program, job.ranks, job.run_time) == ("climate", 64, 61.3127)
    assert set(job.modules) == {"POSIX", "MPI-IO", "STDIO"}
    module = job.main("write")
    own = module.write
    assert (module.name, own.size, own.requests) == ("POSIX", 8 << 30, 131072)
    assert own.mean == 65536
    assert own.sizes["10K_100K"] == 131072
    assert sum(own.sizes.values()) == 131072
    assert (own.consecutive, own.sequential) == (8064, 131008)
    assert module.common == {65536: 131072}
    assert (module.unaligned, module.alignment) == (122880, MIB)
    assert module.slowest == 24.5
    assert module.rate == pytest.approx((8 << 30) / 24.5)
    assert module.metadata_share == pytest.approx(88.64 / (88.64 + 1409.312))
    assert [own.count_files(kind) for kind in ("all", "some", "one")] == [1, 0, 0]
    assert module.ranks("write", 64) == 64
    assert not module.read.size
    assert job.modules["MPI-IO"].write.calls["independent"] == 131072
    assert job.modules["STDIO"].write.size == 12288, "what went to <STDOUT> does not count"


def test_files_of_single_ranks_and_of_some(tmp_path):
    records = [("POSIX", rank, 10 + rank, f"/x/{rank}", writes(MIB, 2)) for rank in range(3)]
    records += [("POSIX", rank, 99, "/x/both", writes(10)) for rank in (1, 2)]
    job = read_job_io(log_of(tmp_path / "log.txt", records))
    own = job.main("write").write
    assert own.by_rank == {0: MIB, 1: MIB + 10, 2: MIB + 10}
    assert [own.count_files(kind) for kind in ("all", "some", "one")] == [0, 1, 3]
    assert job.main("write").ranks("write", 4) == 3
    assert own.requests == 8


@pytest.mark.parametrize("count", [1, 2, 8, 64])
def test_the_variance_of_the_bytes_gives_the_number_of_ranks(count):
    each = np.zeros(64)
    each[:count] = 4096.0
    shared = Shared(int(each.sum()), float(each.var()), 0, 0)
    assert shared.ranks(64) == pytest.approx(count)


def test_bytes_of_mpi_io_that_do_not_go_through_posix_are_its_own(tmp_path):
    calls = {"COLL_WRITES": 8, "BYTES_WRITTEN": 80 * MIB, "BYTES_READ": 0}
    records = [("POSIX", -1, 1, "/x/a", writes(MIB)), ("MPI-IO", -1, 1, "/x/a", calls)]
    module = read_job_io(log_of(tmp_path / "log.txt", records)).main("write")
    assert (module.name, module.write.requests) == ("MPI-IO", 8)
    assert module.write.calls["collective"] == 8


def test_counters_that_darshan_did_not_count_are_none(tmp_path):
    records = [("POSIX", -1, 1, "/x/a", writes(MIB, FILE_NOT_ALIGNED=-1, CONSEC_WRITES=-1))]
    module = read_job_io(log_of(tmp_path / "log.txt", records)).main("write")
    assert (module.unaligned, module.write.consecutive) == (0, 0)


def test_a_log_itself(tmp_path, monkeypatch):
    class Report:
        def __init__(self, path, read_all=True):
            assert isinstance(path, str)
            assert not read_all
            times = {"start_time_sec": 1, "end_time_sec": 9, "run_time": 7.5}
            self.metadata = {"job": {"nprocs": 4, **times}, "exe": "/bin/solver -n 1"}
            self.modules = {"POSIX": {"len": 1, "partial_flag": False}}
            self.counters = {}
            self.name_records = {}

        def read_name_records(self):
            self.name_records = {7: "/scratch/a", 8: "<STDOUT>"}

        def mod_records(self, module, dtype="numpy"):
            assert dtype == "numpy"
            times = [f"POSIX_F_{x}_TIME" for x in ("READ", "WRITE", "META", "SLOWEST_RANK")]
            names = ["POSIX_BYTES_WRITTEN", "POSIX_WRITES"]
            self.counters[module] = {"counters": names, "fcounters": times}
            for number in (7, 8):
                yield {
                    "id": number,
                    "rank": -1,
                    "counters": np.array([4096, 4]),
                    "fcounters": np.array([0.0, 1.0, 0.5, 0.25]),
                }

    standing_for(Report, monkeypatch)
    path = tmp_path / "x.darshan"
    path.write_bytes(HEAD)
    job = read_job_io(path)
    assert (job.program, job.ranks, job.main("write").rate) == ("solver", 4, 8192.0)
    assert job.main("write").write.files == {7: -1}


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (STATS, "got a table of job_stats. Give the log itself, or its text: darshan-parser"),
        (TEXT, "must have bytes that were read or written, got none"),
        (OLD, "must have bytes that were read or written, got none"),
        (DATA / "sacct.txt", "must be a Darshan log, or what darshan-parser"),
        (DATA / "none.txt", "must exist"),
    ],
)
def test_a_log_without_bytes_is_refused(path, says):
    with pytest.raises((FileProblems, OSError), match=says):
        read_job_io(path)


def test_a_counter_that_is_no_number_is_named_with_its_line(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text(LOG.read_text().replace("POSIX_WRITES\t131072", "POSIX_WRITES\tmany"))
    with pytest.raises(FileProblems, match=r"line 38  POSIX_WRITES must be a finite number, got"):
        read_job_io(path)


def test_a_report_as_json(tmp_path):
    report = json.loads(REPORT.read_text())
    names = ["POSIX_BYTES_WRITTEN", "POSIX_WRITES"]
    report["counters"]["POSIX"]["counters"] = names
    for record, counters in zip(report["records"]["POSIX"], [[800, 8], [50, 5]], strict=True):
        record["counters"] = counters
    path = tmp_path / "log.json"
    path.write_text(json.dumps(report))
    job = read_job_io(path)
    assert (job.ranks, job.partial) == (8, ("POSIX",))
    own = job.main("write").write
    assert (own.size, own.requests, own.shared_size, own.by_rank) == (850, 13, 800, {5: 50})
    report["records"]["POSIX"][0]["counters"] = [800]
    path.write_text(json.dumps(report))
    with pytest.raises(FileProblems, match="must have an id, and a number for each of its coun"):
        read_job_io(path)
