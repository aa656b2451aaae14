"""Programs from profiles of Caliper, Score-P and TALP: counts are exact, and faults are told.

Where caliper-reader and pycubexr are not installed, fakes of them read what `written` writes.
"""

import json
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

import parcast
from parcast.characterisation.profiles import counted
from parcast.errors import FileProblems, ParameterError
from parcast.importers.content import MissingLibrary
from tests.characterisation.profiles import written
from tests.characterisation.profiles.written import STEPS, caliper_json, scorep, stencil, talp
from tests.importers.test_caliper import FakeReader

CASES = [(p, n) for n in (240, 480) for p in (1, 2, 4, 8)]
COUNTS = {  # of the program: calls, iterations or bytes
    "setup broadcast": ("1", "8 B*n"),
    "steps allreduce": ("50", "8 B"),
    "main gather": ("1", "8 B*n^2/p"),
    "halo exchange": ("50*min(2, p - 1)", "8 B*n"),
    "row": ("1", "50*n"),
    "sweep": ("50", "1"),
    "setup": ("1", "1"),
}
MACHINE = """
name = "here"
[primitives]
send = { startup = "2 us", bandwidth = "5 GB/s" }
broadcast = { startup = "2 us * log2(p)", bandwidth = "5 GB/s" }
allreduce = { startup = "4 us * log2(p)", bandwidth = "2 GB/s" }
gather = { startup = "2 us * log2(p)", bandwidth = "5 GB/s" }
"""


@pytest.fixture(autouse=True)
def libraries(monkeypatch):
    fakes = {
        "caliperreader": SimpleNamespace(CaliperStreamReader=FakeReader),
        "pycubexr": SimpleNamespace(CubexParser=written.FakeCubex),
    }
    for name, fake in fakes.items():
        if find_spec(name) is None:
            monkeypatch.setitem(sys.modules, name, fake)


@pytest.fixture
def refused():
    """Say why profiles are refused."""

    def say(*paths):
        with pytest.raises(FileProblems) as caught:
            parcast.read_profiles(paths)
        return str(caught.value).splitlines()[1].strip()

    return say


def cubex(folder, p, n, **options):
    return scorep(folder / f"stencil.p{p}.n{n}.r1" / "profile.cubex", stencil(p, n), **options)


WRITERS = {
    "json": lambda folder, p, n: caliper_json(folder / f"{p}_{n}.json", stencil(p, n), n=n),
    "cali": lambda folder, p, n: written.caliper_cali(
        folder / f"{p}_{n}.cali", stencil(p, n), n=n
    ),
    "cubex": cubex,
}


def time_of(p):
    """Time of the slowest rank."""
    return max(sum(x.time for x in of_rank.values()) for of_rank in stencil(p, 480))


# what is read


@pytest.mark.parametrize("kind", WRITERS)
def test_counts_are_found_exactly_and_predict_without_editing(kind, tmp_path, parcast):
    paths = [WRITERS[kind](tmp_path, p, n) for p, n in CASES]
    said = parcast("characterise", *paths, "-o", tmp_path / "app.toml", "--json")
    assert said.status == 0, said.err
    told = json.loads(said.out)
    rows = {x["region"]: (x["calls"], x["iterations"] or x["volume"]) for x in told["rows"]}
    assert {name: rows[name] for name in COUNTS} == COUNTS
    assert told["clock"] == "wall"
    assert all(x["is_exact"] for x in told["rows"])
    (tmp_path / "here.toml").write_text(MACHINE)
    files = [tmp_path / "app.toml", tmp_path / "here.toml"]
    said = parcast("predict", *files, "-p", "1,2,4,8", "-n", "480", "--json")
    assert said.status == 0, said.err
    times = {x["p"]: x["time_s"] for x in json.loads(said.out)["rows"]}
    assert times == pytest.approx({p: time_of(p) for p in times}, rel=0.02)
    table = [f"{p},480,{time_of(p) * x}" for p in (1, 2, 4, 8) for x in (0.999, 1.001)]
    (tmp_path / "runs.csv").write_text("\n".join(["p,n,time_s", *table]))
    said = parcast("validate", *files, tmp_path / "runs.csv", "--json")
    assert said.status == 0, said.err


def test_all_three_give_the_same_program(tmp_path):
    texts = [
        parcast.characterise(
            parcast.read_profiles([write(tmp_path, p, n) for p, n in CASES]).runs, size="n"
        ).toml
        for write in WRITERS.values()
    ]
    assert texts[0] == texts[1]
    by_region = [{x.strip() for x in y.split("[[phase.region]]") if "volume" in x} for y in texts]
    assert by_region[0] == by_region[2]
    assert len(by_region[0]) == 4


def test_a_folder_of_score_p_is_its_profile(tmp_path):
    paths = [cubex(tmp_path, p, 480).parent for p in (1, 2, 4)]
    found = parcast.read_profiles(paths)
    assert [run.p for run in found.runs] == [1, 2, 4]
    assert found.runs[0].parameters == {"n": 480}
    assert {rank.host for run in found.runs for rank in run.ranks} == {"node01"}
    assert found.notes == (
        "Score-P counts bytes of allreduce for all ranks of a communicator: it is taken to be "
        "that of the whole run.",
    )


def test_times_in_another_unit_are_the_same(tmp_path):
    write = tmp_path / "usec.json"
    micro = caliper_json(write, stencil(2, 480), unit="usec", scale=1e6)
    plain = caliper_json(tmp_path / "sec.json", stencil(2, 480))
    one, other = parcast.read_profiles([micro, plain]).runs
    assert one.time == pytest.approx(other.time)
    metrics = (written.METRICS[0], ("time", "DOUBLE", "usec"), *written.BYTES)
    path = scorep(tmp_path / "profile.cubex", stencil(2, 480), metrics=metrics, scale=1e6)
    assert parcast.read_profiles(path).runs[0].time == pytest.approx(other.time, rel=0.01)


def test_calls_in_place_count_one_partner_less(tmp_path):
    for in_place in (False, True):
        paths = []
        for p in (2, 4, 8):
            ranks = stencil(p, 240)
            for of_rank in ranks:
                volume = 8 * STEPS * (p - in_place)
                of_rank["main", "steps", "MPI_Allreduce"].scorep = (volume, volume)
            folder = tmp_path / f"{in_place}.p{p}.n240.r1"
            paths.append(scorep(folder / "profile.cubex", ranks))
        found = parcast.characterise(parcast.read_profiles(paths).runs)
        [volume] = [x.volume for x in found.regions if x.name == "steps allreduce"]
        assert volume == "8 B"


@pytest.mark.parametrize(
    ("function", "own", "calls", "largest", "each"),
    [
        ("bcast", [400, 0, 0, 0], 5, 80, 400),  # one root
        ("bcast", [200, 200, 0, 0], 5, 80, 400),  # two, in turn
        ("bcast", [400, 0, 400, 0], 5, 80, 400),  # of two communicators
        ("scatterv", [400, 0, 0, 0], 5, 80, 100),
        ("reduce", [0, 400, 400, 400], 5, 80, 400),
        ("reduce", [300, 300, 300, 300], 5, 80, 400),  # all in turn
        ("allgather", [400, 400, 400, 400], 5, 80, 400),
        ("alltoall", [400, 400, 400, 400], 5, 80, 100),
    ],
)
def test_bytes_of_collectives_of_caliper_are_those_of_one_partner(
    function, own, calls, largest, each
):
    numbers = [np.array(x, dtype=float) for x in (own, [calls] * 4, [largest] * 4)]
    assert counted._of_one_partner(function, *numbers, 4).tolist() == [each] * 4


def test_small_regions_and_those_of_some_runs_count_with_their_callers(tmp_path):
    paths = []
    for p in (2, 4, 8):
        ranks = stencil(p, 480)
        for of_rank in ranks:
            of_rank["main", "once"] = written.Done(1e-6)
            of_rank["main", "MPI_Comm_split"] = written.Done(0.01)
            of_rank["main", "MPI_Init"] = written.Done(0.5)
            if p == 8:
                of_rank["main", "odd"] = written.Done(0.02)
        paths.append(caliper_json(tmp_path / f"{p}.json", ranks))
    found = parcast.read_profiles(paths)
    names = {x.name for rank in found.runs[-1].ranks for x in rank.regions}
    assert not {"once", "odd", "MPI_Comm_split", "MPI_Init"} & names
    assert found.notes == (
        "MPI_Init and MPI_Finalize take up to 0.5 s of a run (p = 4) and are left out.",
        "Counted as computing, as nothing is known of their bytes: MPI_Comm_split, up to 20% of a "
        "run.",
        'Not in every run, so counted with their callers: call paths "main->odd".',
    )
    [main] = [x for x in found.runs[-1].ranks[0].regions if x.name == "main"]
    assert main.wall == pytest.approx(0.0005 + 1e-6 + 0.01 + 0.02)


def test_messages_that_a_run_lacks_are_0_calls(tmp_path):
    paths = []
    for p in (2, 4, 8):
        ranks = stencil(p, 480)
        if p == 2:
            for of_rank in ranks:
                del of_rank["main", "MPI_Gather"]
        paths.append(caliper_json(tmp_path / f"{p}.json", ranks))
    found = parcast.characterise(parcast.read_profiles(paths).runs)
    [row] = [x for x in found.regions if x.name == "main gather"]
    assert row.calls == "-1 + min(2, p - 1)"
    assert row.volume == "1843200 B/p"


def test_regions_of_the_same_name_are_told_apart(tmp_path):
    paths = []
    for p in (1, 2):
        ranks = stencil(p, 480)
        for of_rank in ranks:
            of_rank["main", "sweep"] = written.Done(0.01)
            of_rank["main", "steps", "sweep"].time = 0.01
        paths.append(caliper_json(tmp_path / f"{p}.json", ranks))
    names = [x.name for x in parcast.read_profiles(paths).runs[0].ranks[0].regions]
    assert {"main->sweep", "main->steps->sweep"} <= set(names)


def test_ranks_with_other_regions_are_told(tmp_path):
    paths = []
    for p in (2, 4):
        ranks = stencil(p, 480)
        ranks[0]["main", "log"] = written.Done(0.01)
        paths.append(caliper_json(tmp_path / f"{p}.json", ranks))
    found = parcast.characterise(parcast.read_profiles(paths).runs)
    assert any('Region "log" ran only on rank 0 of 2' in x for x in found.warnings)


@pytest.mark.parametrize(("hosts", "are_told"), [(("n01", "n17"), False), (("n01", "gpu1"), True)])
def test_hosts_of_other_machines_are_told(hosts, are_told, tmp_path):
    paths = [
        caliper_json(tmp_path / f"{p}.json", stencil(p, 480), hostname=host)
        for p, host in zip((1, 2), hosts, strict=True)
    ]
    found = parcast.characterise(parcast.read_profiles(paths).runs)
    assert any("hosts with different names: n01, gpu1" in x for x in found.warnings) == are_told


def test_visits_that_were_not_counted_are_told(tmp_path):
    paths = [
        caliper_json(tmp_path / f"{p}.json", stencil(p, 480), without=["Calls"]) for p in (1, 2, 4)
    ]
    found = parcast.read_profiles(paths)
    assert "add region.count to CALI_CONFIG" in found.notes[0]
    rows = {x.name: x for x in parcast.characterise(found.runs).regions}
    assert rows["halo exchange"].volume == "3840 B"


# TALP


def test_talp_gives_time_in_mpi_as_measured(tmp_path):
    paths = [talp(tmp_path / f"{p}.json", stencil(p, 480)) for p in (1, 2, 4, 8)]
    read = parcast.read_profiles(paths)
    assert "TALP reports neither kinds nor bytes of messages" in read.notes[0]
    found = parcast.characterise(read.runs)
    names = {x.name for x in found.regions}
    assert {"steps", "steps MPI and waiting", "outside regions"} <= names
    predicted = parcast.predict(found.program, parcast.Machine(), p=[2, 4, 8])
    assert predicted.time == pytest.approx([time_of(p) for p in (2, 4, 8)], rel=0.05)


def test_talp_uses_each_process_where_it_is_told(tmp_path):
    [run] = parcast.read_profiles(talp(tmp_path / "t.json", stencil(4, 480), processes=4)).runs
    assert run.ranks[0].host == "node01"
    times = [x.wall for x in run.of_region("steps")]
    assert len(set(times)) <= 2
    assert run.time == pytest.approx(time_of(4), rel=0.02)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"processes": 1}, "must have each of 2 processes, got 1."),
        ({"usefulTime": "long"}, "must have a usefulTime of at least 0, in nanoseconds, got 'lon"),
        ({"usefulTime": 10**12}, "must have no more usefulTime on a CPU than elapsedTime, got"),
        ({"numMpiRanks": 0, "numCpus": 0}, "must have numMpiRanks or numCpus of at least 1, got"),
    ],
)
def test_talp_that_contradicts_itself_is_refused(options, says, tmp_path, refused):
    path = talp(tmp_path / "t.json", stencil(2, 480), **options)
    assert says in refused(path)


def test_regions_of_talp_that_lie_in_each_other_are_refused(tmp_path, refused):
    path = talp(tmp_path / "t.json", stencil(2, 480))
    document = json.loads(path.read_text())
    document["Application"]["inner"] = document["Application"]["steps"]
    path.write_text(json.dumps(document))
    assert "must have regions that do not lie in each other" in refused(path)


# what is refused


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"without": ["Msgs sent", "Msgs recvd", "Collectives"]},
            "must have the numbers and bytes of messages, got no mpi.message.count. Profile it",
        ),
        (
            {"without": ["Msg size (avg)"]},
            "must have the numbers and bytes of messages, got no mpi.message.size. Profile it",
        ),
        ({"without": ["mpi.rank"]}, "must have exclusive times of each rank, with mpi.rank, got"),
        ({"without": ["time"]}, "must have exclusive times of each rank, with mpi.rank, got"),
        ({"mpi.world.size": 3}, "must have times of all 3 ranks, got no rank 2. Profile the run"),
        ({"mpi.world.size": 1}, "must have times of all 1 ranks, got 2."),
        ({"mpi.world.size": 0}, "must have an mpi.world.size of at least 1, got '0'."),
    ],
)
def test_caliper_files_that_lack_something_are_refused(options, says, tmp_path, refused):
    path = caliper_json(tmp_path / "2.json", stencil(2, 480), **options)
    assert says in refused(path)


def test_functions_of_mpi_must_be_there(tmp_path, refused):
    ranks = [{x: y for x, y in z.items() if "MPI" not in x[-1]} for z in stencil(2, 480)]
    says = "must have functions of MPI such as MPI_Send, as it ran on 2 ranks, got none."
    assert says in refused(caliper_json(tmp_path / "2.json", ranks))
    assert "--mpp=mpi" in refused(scorep(tmp_path / "profile.cubex", ranks))


@pytest.mark.parametrize(
    ("metrics", "says"),
    [
        (written.METRICS, "got no bytes_sent and no bytes_received."),
        ((*written.METRICS[1:], *written.BYTES), "got no visits."),
        ((*written.METRICS[:1], *written.BYTES), "must have the metric time in sec, msec, usec"),
        (
            (written.METRICS[0], ("time", "DOUBLE", "min"), *written.BYTES),
            "must have the metric time in sec, msec, usec or nsec, got 'min'.",
        ),
    ],
)
def test_cubex_files_that_lack_a_metric_are_refused(metrics, says, tmp_path, refused):
    assert says in refused(scorep(tmp_path / "profile.cubex", stencil(2, 480), metrics=metrics))


@pytest.mark.parametrize("kind", [*WRITERS, "talp"])
def test_a_file_that_was_cut_off_is_refused(kind, tmp_path, refused):
    writers = WRITERS | {"talp": lambda folder, p, n: talp(folder / "t.json", stencil(p, n))}
    path = writers[kind](tmp_path, 2, 480)
    path.write_bytes(path.read_bytes()[: 900 if kind != "talp" else 300])
    assert "The file may have been cut off" in refused(path)


def test_files_of_two_tools_are_refused(tmp_path):
    paths = [
        caliper_json(tmp_path / "1.json", stencil(1, 480)),
        talp(tmp_path / "2.json", stencil(2, 480)),
    ]
    with pytest.raises(ParameterError, match=r"must all be of one tool, got Caliper .* and TALP"):
        parcast.read_profiles(paths)


def test_a_file_that_is_given_twice_is_refused(tmp_path, refused):
    path = caliper_json(tmp_path / "1.json", stencil(1, 480))
    assert "must be of another run than" in refused(path, path)


def test_other_programs_are_refused(tmp_path, refused):
    one = caliper_json(tmp_path / "1.json", stencil(1, 480))
    other = caliper_json(tmp_path / "2.json", [{("app",): written.Done(1.0)}])
    assert "must have a call path of the other runs, got none of them." in refused(one, other)


def test_processor_times_that_nobody_measured_are_refused(tmp_path):
    runs = parcast.read_profiles(caliper_json(tmp_path / "1.json", stencil(1, 480))).runs
    with pytest.raises(ParameterError, match="must be wall for profiles without processor times"):
        parcast.characterise(runs, clock="processor")


@pytest.mark.parametrize(("kind", "extra"), [("cali", "caliper"), ("cubex", "cubex")])
def test_a_missing_library_is_told(kind, extra, tmp_path, monkeypatch):
    path = WRITERS[kind](tmp_path, 1, 480)
    for name in ("caliperreader", "pycubexr"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingLibrary, match=rf'pip install "parcast\[{extra}\]"'):
        parcast.read_profiles(path)
