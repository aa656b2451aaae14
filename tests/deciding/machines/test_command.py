"""`parcast match`: what it answers, in every form, what it refuses, and with which status."""

import json

from parcast.deciding.machines.match import match
from parcast.descriptions.toml_files import read_machine
from parcast.timings.tables.files import read_measurements
from tests.conftest import ROOT
from tests.written import written

EXAMPLE = ROOT / "examples" / "matching"
TIMES = EXAMPLE / "times.csv"
FILES = [EXAMPLE / f"{name}.toml" for name in ("t3e", "sp", "o2000")]
PROGRAM = ROOT / "examples" / "checkpoint" / "program.toml"
CLUSTERS = [ROOT / "examples" / "checkpoint" / f"{name}.toml" for name in ("nvme", "nfs")]


def test_the_answer_is_that_of_the_function(parcast):
    said = parcast("match", TIMES, *FILES, "--goal", "cost", "--within", "12s", "--json")
    assert said.status == 0
    document = json.loads(said.out)
    told = match(read_measurements(TIMES), [*map(read_machine, FILES)], goal="cost", within=12.0)
    assert document["ranking"] == written(list(told.ranking()))
    assert document["inputs"]["runs"]["measurements"] == 21
    assert len(document["inputs"]["machines"]) == 3
    assert document["inputs"]["options"]["goal"] == "cost"


def test_a_program_is_matched_with_machines(parcast):
    price = "cluster with NVMe servers=0.05,cluster with one NFS server=0.03"
    asked = ("-p", "16..8192x2", "--price", price, "--budget", "500 EUR", "--within", "2h")
    said = parcast("match", PROGRAM, *CLUSTERS, *asked)
    assert said.status == 0
    assert said.out.startswith("solver with checkpoints: machines by least time, within 2 h and")
    assert (
        "cluster with NVMe servers has 4096 processors; larger counts are left out: p = 8192."
        in said.out
    )
    assert "law error  " in said.out
    assert "measured: 16 runs of NAS BT with I/O" in " ".join(said.out.split())
    assert "not the error of the law" not in said.out
    certain = parcast("match", PROGRAM, *CLUSTERS, *asked, "--no-law-error", "-v")
    assert "not the error of the law" in certain.out
    assert "law error  " not in certain.out


def test_two_tables_are_one_too_many(parcast, times, machines):
    said = parcast("match", times, machines)
    assert said.status == 2
    assert said.err.startswith(
        "parcast: match needs one program file or table of timings; "
        f"{times} and {machines} are both tables of timings.\n"
    )


def test_a_second_goal_is_refused(parcast):
    """Guards: the first of two was dropped, without a word."""
    told = parcast("match", ROOT / "examples/nas_bt/times.csv", "--goal", "time", "--goal", "cost")
    assert told.status == 2
    assert "--goal is given twice. Rank by one, and limit the others." in told.err
