"""From measured times to costs, and from costs to the file, the sheet and the law."""

import json
import tomllib
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from parcast.arrays.contention import Placement
from parcast.arrays.measuring.disk_costs import (
    FEW,
    SEVERAL,
    SMALL,
    Access,
    Files,
    Servers,
    accessed,
    measured_files,
)
from parcast.arrays.measuring.figure import UNLIMITED
from parcast.arrays.measuring.interpreting import figures_of
from parcast.arrays.measuring.launches import Observed, observed_of
from parcast.arrays.measuring.measure import predicted
from parcast.arrays.measuring.request import Request
from parcast.arrays.parameters import read_parameters
from parcast.arrays.store.writing import WRITE_OUT
from tests.arrays.measuring.made import (
    LONGEST,
    R_MEM,
    R_READ,
    RATE,
    REST,
    SEND,
    TAKE,
    R,
    access,
    measured_costs,
    observed,
)


@pytest.fixture
def measured():
    return measured_costs()


def test_known_costs_are_found_again(measured):
    value = measured.value
    for side in ("clients", "servers"):
        assert value(f"{side}.send_startup") == pytest.approx(SEND, rel=1e-3)
        assert value(f"{side}.receive_startup") == pytest.approx(TAKE, rel=1e-3)
        assert value(f"{side}.bandwidth") == pytest.approx(RATE, rel=1e-3)
    assert value("messages.rest") == pytest.approx(REST)
    assert value("messages.longest_rest") == pytest.approx(LONGEST)
    assert value("servers.cache_rate") == pytest.approx(R_MEM, rel=0.02)
    assert value("servers.write_rate") == pytest.approx(R, rel=0.02)
    assert value("servers.read_rate") == pytest.approx(R_READ)
    assert value("servers.flush") == pytest.approx(2e-3, rel=0.02)
    both = 1 / (1 / R + 1 / R_MEM)
    assert value("sync.write_rate") == pytest.approx(both, rel=0.01)
    assert value("small.write_rate") == pytest.approx(R, rel=0.01)
    assert value("small.cache_rate") == pytest.approx(R_MEM, rel=0.02)
    assert value("few.write_rate") == pytest.approx(both, rel=0.15)  # the system writes out too
    assert value("many.write_rate") == pytest.approx(R, rel=0.15)
    size = SMALL / R + SMALL / R_MEM
    assert value("servers.open_file") == pytest.approx(1e-4 + size, rel=0.01)
    assert value("servers.metadata") == pytest.approx(7e-5)
    assert value("files.folder") == pytest.approx(2e-5, rel=0.01)
    assert value("turn.cache_rate") == pytest.approx(R_MEM)
    assert value("turn.open_file") == pytest.approx(1.2e-4 + SMALL / R, rel=0.05)
    assert value("turn.read_rate") == pytest.approx(0.5 * R_READ)
    assert value("servers.interference") == pytest.approx(0.25, rel=0.01)
    assert value("read.open_file") == pytest.approx(3e-5 + SMALL / R_READ)
    assert value("read.metadata") == pytest.approx(1e-5)
    small = access(Files(number=1, size=SMALL, subchunk=SMALL))
    total = small.begin + small.write - small.encode + small.flush + small.commit
    assert value("servers.synchronise") == pytest.approx(total)


def test_a_flush_that_takes_no_time_is_no_limit():
    made = observed()
    quick = [
        (files, [Access(**{**dict(_fields(x)), "flush": 0.0}) for x in accesses])
        for files, accesses in made.files
    ]
    figures = figures_of(Observed(**{**dict(_fields(made)), "files": quick}))
    assert next(x.value for x in figures if x.key == "small.write_rate") == UNLIMITED
    assert next(x.value for x in figures if x.key == "servers.write_rate") == pytest.approx(R_MEM)


def _fields(each):
    return ((name, getattr(each, name)) for name in each.__dataclass_fields__)


def test_intervals_contain_the_scatter_of_the_repetitions():
    made = observed(rounds=9)
    rng = np.random.default_rng(3)
    for _, accesses in made.files:
        for i, each in enumerate(accesses):
            scale = rng.uniform(0.8, 1.2)
            accesses[i] = Access(**{name: x * scale for name, x in _fields(each)})
    for figure in figures_of(made):
        assert figure.lower <= figure.value <= figure.upper
        if figure.key == "servers.read_rate":
            assert figure.lower < R_READ * 1.02
            assert figure.upper > R_READ * 0.98
            assert figure.upper > 1.02 * figure.lower


def test_the_file_is_read_back_and_planned_with(measured, tmp_path, parcast):
    path = tmp_path / "costs.toml"
    measured.save(path)
    again = read_parameters(path)
    assert again == measured.parameters()
    assert again.name == 'a "new" machine'
    costs = again.costs()
    assert float(costs.servers.write_rate) == pytest.approx(measured.value("servers.write_rate"))
    assert (costs.servers.through_cache, costs.protocol.nonblocking) == (True, True)
    assert costs.servers.partition == WRITE_OUT
    told = ("plan", "io", "--shape", "64x64x64", "--clients", "2x2x1", "--costs", path)
    said = parcast(*told, "--servers", "1..2", "--writer", "double-buffer")
    assert (said.status, said.err) == (0, "")
    assert 'a "new" machine' in said.out


def test_document_and_rows_have_the_same_figures(measured, tmp_path):
    document = json.loads(json.dumps(measured.to_document()))
    assert document["schema"] == "parcast/array-io-costs/1"
    assert document["rows"] == json.loads(json.dumps(list(measured.rows())))
    assert tomllib.loads(measured.to_toml()) == document["costs"]
    measured.save(tmp_path / "costs.csv")
    assert len((tmp_path / "costs.csv").read_text().splitlines()) == 1 + len(document["rows"])
    assert "MeasuredCosts" in repr(measured)
    assert "4 clients and 1 server on 2 cores" in str(measured)


def test_the_law_of_a_request_has_the_costs_of_its_files(measured):
    few, many = (Request(shape=(8, 8), mesh=(2, 2), number=n, batch=False) for n in (FEW, SEVERAL))
    each = [measured.costs_for(x).servers for x in (few, many)]
    folder = measured.value("files.folder")  # one less than those of three dimensions
    assert float(each[0].open_file) == measured.value("few.open_file") - folder
    assert float(each[1].open_file) == measured.value("servers.open_file") - folder
    in_turn = Request(shape=(8, 8), mesh=(2, 2), number=FEW, batch=False, writer="sync")
    costs = measured.costs_for(in_turn).servers
    assert float(costs.open_file) == measured.value("turn.open_file") - folder
    assert float(costs.cache_rate) == np.inf  # contained in the rate of writing
    assert float(costs.write_rate) == measured.value("sync.write_rate")
    assert float(each[0].write_rate) == measured.value("few.write_rate")
    assert float(each[1].write_rate) == measured.value("many.write_rate")
    one = measured.costs_for(Request(shape=(64, 64), mesh=(2, 2))).servers
    assert float(one.write_rate) == measured.value("small.write_rate")
    assert float(one.cache_rate) == measured.value("small.cache_rate")
    stacked = Request(shape=(8, 8), mesh=(2, 2), number=SEVERAL, stack=True)
    assert float(measured.costs_for(stacked).servers.open_file) == pytest.approx(
        measured.value("few.open_file") / SEVERAL
    )
    large = Request(shape=(2048, 1024), mesh=(4, 1))
    assert measured.costs_for(large).servers.partition == WRITE_OUT
    behind = measured.costs_for(replace(large, writer="write-behind")).servers
    assert float(behind.cache_rate) == pytest.approx(measured.value("turn.cache_rate"))
    assert float(behind.write_rate) == pytest.approx(measured.value("servers.write_rate"))
    assert measured.costs_for(few).servers.partition > 1 << 50
    read = Request(shape=(8, 8), mesh=(2, 2), operation="read")
    assert float(measured.costs_for(read).servers.metadata) == pytest.approx(
        2 * measured.value("read.metadata")
    )
    placement = Placement(clients=[0] * 4, servers=[0], cores=2)
    time = predicted(measured, large, contention=True, placement=placement)
    assert time.time > large.size / R_MEM
    assert time.time > predicted(measured, few).startup.max()


def test_files_are_written_and_read_by_one_process(tmp_path):
    taken = accessed(tmp_path, Files(number=3, size=8192, subchunk=4096), Servers())
    assert all(value > 0 for _, value in _fields(taken))
    assert list(tmp_path.iterdir()) == []


def test_every_kind_of_file_is_measured_in_turn(tmp_path, monkeypatch):
    order = []
    ticks = count()

    def fake(_folder, files, _servers):
        order.append(files)
        tick = float(next(ticks))
        return Access(begin=tick, write=0.1, encode=0.0, flush=0.3, commit=0.0)

    monkeypatch.setattr("parcast.arrays.measuring.disk_costs.accessed", fake)
    found = measured_files(tmp_path, Servers(), rounds=2)
    kinds = len(found)
    assert order[1 : kinds + 1] == order[kinds + 1 : 2 * kinds + 1] == [x for x, _ in found]
    first = next(accesses for files, accesses in found if files == order[1])
    assert [each.begin for each in first] == [kinds + 1, 2 * kinds + 1]  # the first is discarded
    sizes = {files.size for files, _ in found}
    assert 2 * WRITE_OUT in sizes  # 4 MiB took 0.4 s: no more than is needed


def test_an_answer_of_the_ranks_is_read():
    document = {
        "calls": [[1.0, 2.0, 3.0]],
        "pauses": [[0.0, [1.0]]],
        "eager_limit": 4096,
        "cycles": [{"among": "pair", "clients": 1, "size": 0, "times": [1.0]}],
    }
    read = observed_of(document, 2, 1)
    assert read.pauses == {0.0: [1.0]}
    assert read.cycles[0].times == [1.0]
    assert read.files == read.turns == []


def test_the_command_measures_on_ranks(parcast, tmp_path):
    out = tmp_path / "costs.toml"
    said = parcast(
        "calibrate", "array-io", tmp_path, "-np", 1, "--servers", 1, "--quick", "-o", out, "--json"
    )
    assert said.status == 0
    document = json.loads(said.out)
    assert document["clients"] == document["servers"] == 1
    values = {row["key"]: row["value"] for row in document["rows"]}
    assert values["servers.cache_rate"] > 1e6
    assert values["clients.bandwidth"] > 1e6
    assert 0 < values["servers.synchronise"] < 10
    assert values["servers.find"] > 0
    assert float(read_parameters(out).costs().servers.cache_rate) > 1e6
    assert [path.name for path in tmp_path.iterdir()] == ["costs.toml"]


def test_a_folder_that_is_none_is_refused(parcast, tmp_path):
    said = parcast("calibrate", "array-io", tmp_path / "none")
    assert said.status == 2
    assert "FOLDER must be a folder that can be written to" in said.err
    said = parcast("calibrate", "array-io", "-np", 0)
    assert said.status == 2
