"""`plan_io(darshan=...)`: what a job does now beside the plan, measured beside predicted."""

import copy
import json
import pickle
from math import prod
from pathlib import Path

import pytest

import parcast
from parcast.arrays.planning.now import equal_blocks
from parcast.errors import FileProblems, ParameterError
from tests.conftest import ROOT
from tests.forecasting.test_command import document
from tests.importers.test_darshan_io import LOG, log_of, writes

COSTS = Path(__file__).parent / "data" / "disks.toml"
SLOW = ROOT / "examples" / "arrays" / "sp2_like.toml"
MIB = 1 << 20


def facts(result):
    return {fact.label: fact.text for fact in result.to_sheet(show_all=True).facts if fact.label}


@pytest.fixture(scope="module")
def planned():
    return parcast.plan_io(darshan=LOG, costs=COSTS)


def test_without_a_shape_the_bytes_of_the_log_are_planned_in_equal_blocks(planned):
    assert planned.shape == (1 << 30,)
    assert (planned.size, planned.clients, planned.number) == (8 << 30, 64, 1)
    same = parcast.plan_io((1 << 30,), (64,), costs=COSTS)
    assert list(planned.rows()) == list(same.rows())
    [note] = [text for text in planned.warnings if " log " in text]
    assert note.startswith("The log has no shapes of arrays: equal blocks of its bytes are")


def test_now_is_measured_and_the_plan_is_predicted(planned):
    said = facts(planned)
    short = {fact.label for fact in planned.to_sheet().facts}
    assert {"now", "planned", "change"} <= short
    assert not {"requests", "ranks", "files", "time"} & short
    assert said["now"] == (
        "64 ranks write 131,072 requests of 65.5 kB to one shared file at 351 MB/s, 24.5 s of I/O "
        "(measured)"
    )
    assert said["planned"] == (
        "8 servers write pieces of up to 1.05 MB at 12 GB/s, 716.3 ms in all (predicted, costs: "
        "scratch, eight OSTs of 1.5 GB/s)"
    )
    assert said["change"] == (
        "8 ranks write instead of 64; pieces of up to 1.05 MB instead of 65.5 kB; on blocks of "
        "1.05 MB of the file; collective calls instead of independent ones"
    )
    assert said["requests"] == "65.5 kB on average; by length: 100% up to 102 kB"
    assert said["ranks"] == "all 64, equally much"
    assert said["files"] == "1 shared by all ranks"
    assert said["MPI-IO"] == "131,072 independent requests of 65.5 kB on average"
    assert said["also"] == "12.3 kB in 150 requests of STDIO"
    assert said["time"] == (
        "I/O of the slowest rank 24.5 s, 40% of the run; metadata 6% of the I/O time of all ranks"
    )
    assert "cb_nodes 8" in said["settings"]


def test_the_document_has_now_beside_all_that_there_was(planned):
    told = planned.to_document()
    without = parcast.plan_io((1 << 30,), (64,), costs=COSTS).to_document()
    assert told.keys() - without.keys() == {"now"}
    now = told["now"]
    assert json.loads(json.dumps(now)) == now
    assert (now["ranks"], now["accessing_ranks"], now["operation"]) == (64, 64.0, "write")
    assert now["rate_B_per_s"] == pytest.approx((8 << 30) / 24.5)
    assert (now["sequential"], now["unaligned"]) == (131008 / 131072, 122880 / 131072)
    assert now["modules"]["STDIO"] == {
        "read_bytes": 0, "reads": 0, "written_bytes": 12288, "writes": 150,
    }  # fmt: skip
    assert now["mpi_io"]["independent"] == sum(now["request_sizes"].values()) == 131072


def test_a_result_with_a_log_survives_pickling(planned):
    again = pickle.loads(pickle.dumps(copy.deepcopy(planned)))
    assert again.to_document() == planned.to_document()


def test_the_shape_of_the_program_is_planned_if_it_is_given():
    result = parcast.plan_io("512x512x64", "4x4x4", darshan=LOG, costs=COSTS)
    assert result.size == 512 * 512 * 64 * 8
    [note] = [text for text in result.warnings if text.startswith("The log")]
    assert note.startswith("The log has 64 times the bytes of the planned request: compare rates")
    result = parcast.plan_io("512x512x4096", "2x4x4", darshan=LOG, costs=COSTS, servers=[4])
    assert [x for x in result.warnings if x.startswith("The log is of 64 ranks, the plan of 32")]
    result = parcast.plan_io(clients="4x4x4", darshan=LOG, costs=COSTS, servers=[4])
    assert len(result.shape) == 3
    assert result.size == pytest.approx(8 << 30, rel=0.01)


@pytest.mark.parametrize("mesh", [(1,), (64,), (4, 4), (3, 5, 7), (2, 2, 2, 2)])
@pytest.mark.parametrize("size", [1, 1000, 10**6, 8 << 30, 10**12, 10**15])
def test_equal_blocks_have_the_bytes_and_are_equal(size, mesh):
    shape, number = equal_blocks(size, 8, mesh)
    assert all(extent % m == 0 for extent, m in zip(shape, mesh, strict=True))
    total = prod(shape) * 8 * number
    assert total >= size or total == pytest.approx(size, rel=0.1)
    assert total <= max(1.2 * size, 8 * prod(mesh) * 32)


def test_a_very_large_log_is_planned_in_no_time(tmp_path):
    records = [("POSIX", -1, 1, "/x/a", writes(10**15, 10**6))]
    result = parcast.plan_io(
        darshan=log_of(tmp_path / "log.txt", records, ranks=4096), costs=COSTS, servers=[1, 4, 64]
    )
    assert result.number > 1
    assert result.size == pytest.approx(10**15, rel=0.01)


def test_files_of_single_ranks_are_counted(tmp_path):
    records = [
        ("POSIX", rank, 10 + rank, f"/x/{rank}", writes((rank + 1) * MIB, 4)) for rank in range(4)
    ]
    said = facts(parcast.plan_io(darshan=log_of(tmp_path / "log.txt", records), costs=COSTS))
    assert said["now"].startswith("4 ranks write 16 requests of 655 kB on average to 4 files, one")
    assert said["ranks"] == "4 of 4, 1.05 MB to 4.19 MB each"
    assert said["files"] == "4 of one rank"
    said = facts(
        parcast.plan_io(darshan=tmp_path / "log.txt", costs=COSTS, servers=[1], subchunk=MIB // 2)
    )
    assert said["change"] == (
        "1 rank writes instead of 4; one shared file, or one for each server, instead of 4"
    )


def test_what_the_job_does_the_other_way_is_not_planned(tmp_path):
    counters = writes(MIB, 4) | {"READS": 2, "BYTES_READ": 3 * MIB}
    path = log_of(tmp_path / "log.txt", [("POSIX", -1, 1, "/x", counters)])
    said = facts(parcast.plan_io(darshan=path, costs=COSTS))
    assert said["also"] == "the job reads 3.15 MB, which is not planned"


def test_a_job_that_does_what_is_planned_changes_nothing(tmp_path):
    counters = writes(400 * MIB, 400) | {"F_VARIANCE_RANK_BYTES": 0.0}
    path = log_of(tmp_path / "log.txt", [("POSIX", -1, 1, "/x", counters)], ranks=4)
    said = facts(parcast.plan_io(darshan=path, costs=COSTS, servers=[4]))
    assert said["change"] == "nothing: the job does nearly what is planned"


def test_a_rate_of_reads_and_writes_is_told_to_be_of_both(tmp_path):
    both = {"READS": 3, "BYTES_READ": 3 * MIB}
    job = log_of(tmp_path / "log.txt", [("POSIX", -1, 1, "/x/a", writes(MIB, **both))])
    said = facts(parcast.plan_io(darshan=job, costs=COSTS))
    assert said["now"].endswith(
        "to one shared file; reads and writes together at 8.39 MB/s, 500 ms of I/O (measured)"
    )


def test_few_ranks_of_a_shared_file_are_found_by_the_variance(tmp_path):
    each = [MIB * 100.0] * 2 + [0.0] * 6
    mean = sum(each) / 8
    variance = sum((x - mean) ** 2 for x in each) / 8
    counters = writes(200 * MIB, 200) | {
        "F_VARIANCE_RANK_BYTES": variance,
        "SLOWEST_RANK_BYTES": 100 * MIB,
        "FASTEST_RANK_BYTES": 0,
    }
    path = log_of(tmp_path / "log.txt", [("POSIX", -1, 1, "/x", counters)], ranks=8)
    said = facts(parcast.plan_io(darshan=path, costs=COSTS))
    assert said["now"].startswith("2 ranks write 200 requests of 1.05 MB on average to one shared")
    assert said["ranks"] == (
        "about 2.0 of 8 did the I/O (estimated from the variance of their bytes); the slowest "
        "105 MB, the fastest 0 B"
    )
    del counters["F_VARIANCE_RANK_BYTES"]
    log_of(path, [("POSIX", -1, 1, "/x", counters)], ranks=8)
    said = facts(parcast.plan_io(darshan=path, costs=COSTS))
    assert said["ranks"].startswith("all 8 opened the shared file; how much each accessed is not")


def test_reads_are_planned_if_asked_for(tmp_path):
    reads = {"READS": 8, "BYTES_READ": 8 * MIB, "WRITES": 0, "BYTES_WRITTEN": 0}
    path = log_of(tmp_path / "log.txt", [("STDIO", 0, 1, "/x", reads)])
    result = parcast.plan_io(darshan=path, costs=COSTS, operation="read")
    said = facts(result)
    assert "also" not in said
    assert said["now"].startswith("1 rank reads 8 requests of 1.05 MB on average from 1 file at")
    assert said["planned"].startswith("7 servers read pieces")
    assert result.to_document()["now"]["sequential"] is None
    with pytest.raises(
        FileProblems, match=r"got none, and 8\.39 MB the other way\. Plan that: operation='read'"
    ):
        parcast.plan_io(darshan=path, costs=COSTS)


@pytest.mark.parametrize("given", [{"shape": "8x8"}, {"shape": "8x8", "darshan": LOG}, {}])
def test_what_the_log_does_not_have_must_be_given(given):
    with pytest.raises(ParameterError, match=r"(clients|shape) must be given. Write for example"):
        parcast.plan_io(**given)


def test_the_command_has_it_too(parcast, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    asked = ("plan", "io", "--darshan", LOG, "--costs", COSTS)
    said = parcast(*asked)
    assert said.status == 0
    lines = said.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("now         64 ranks write 131,072 requests") for line in lines)
    told = document(parcast(*asked, "--compare", "cb_nodes=4", "--json"))
    assert (told["now"]["requests"], told["compared"]["servers"]) == (131072, 4)
    assert told["inputs"]["options"]["darshan"] == str(LOG)
    assert parcast("plan", "io", "--darshan", "none.darshan").status == 3
    said = parcast("plan", "io", "--darshan", COSTS)
    assert said.status == 3
    assert "must be a Darshan log" in said.err
    assert "Traceback" not in said.err


def test_what_the_job_does_is_not_replaced_by_what_is_slower(parcast, monkeypatch):
    """Guards: a plan was advised whose own figures were 20 times those of the log."""
    monkeypatch.setenv("COLUMNS", "80")
    for costs in ((), ("--costs", SLOW)):
        said = parcast("plan", "io", "--darshan", LOG, *costs)
        assert said.status == 1
        assert said.out.startswith("No plan is recommended: by these costs the best one writes at")
        assert "parcast calibrate array-io FOLDER -o costs.toml" in said.out
        assert not {"settings", "change", "why"} & {x.split(" ")[0] for x in said.out.splitlines()}
        assert len((said.out + said.err).splitlines()) <= 24
    said = parcast("plan", "io", "--darshan", LOG, "--settings", "romio")
    assert (said.status, "cb_nodes" in said.out) == (1, False)
    said = parcast("plan", "io", "--darshan", LOG, "--costs", COSTS)
    assert (said.status, len((said.out + said.err).splitlines())) == (0, 24)
