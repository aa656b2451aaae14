"""From the times of reference requests to costs, and from costs to the file and the law."""

import json
import time
import tomllib
from dataclasses import dataclass, replace
from math import inf, prod

import pytest

from parcast.arrays.calibration.fitting import ByLaw, components_of, placement_of
from parcast.arrays.calibration.measure import Measuring, OfLayouts
from parcast.arrays.calibration.references import (
    SMALLEST,
    largest_size,
    references,
    trials,
)
from parcast.arrays.calibration.regimes import COSTS, costs_of, keys_of
from parcast.arrays.law.parameters import read_parameters
from parcast.arrays.store.writing import WRITE_OUT
from parcast.arrays.trials.request import (
    FAST,
    SLOW,
    ArrayRequest,
    Layout,
    RequestCase,
    read_requests,
)
from parcast.errors import RunFailed
from parcast.trials.clock import Clock, TimeIsOver
from tests.arrays.calibration.made import CLIENTS, KNOWN, Machine, dry_of, measured_costs
from tests.arrays.conftest import KINDS

LAYOUT = Layout(CLIENTS, 1, True)
LAYOUTS = [Layout(2, 1, False), Layout(4, 2, True), Layout(3, 2, False), Layout(8, 4, False)]


@pytest.fixture(scope="module")
def measured():
    return measured_costs()


@pytest.fixture
def measuring(tmp_path, monkeypatch):
    """Prepare to measure the costs of a machine."""
    monkeypatch.setattr("parcast.arrays.calibration.measure.dry_run", dry_of)
    return lambda machine: Measuring(folder=tmp_path, launcher=machine, bed=None)


@pytest.fixture
def figures(measuring):
    """Measure the costs of a machine."""
    return lambda machine, rounds=2: measuring(machine).figures(LAYOUT, rounds=rounds)


def asked(**keys):
    return ArrayRequest(**{"client_mesh": [2, 2], "servers": 1} | keys)


def costs_in(measured, request):
    """Costs of the servers for a request, of those that were measured."""
    value = {figure.key: figure.value for figure in measured.figures}
    return costs_of(request, dry_of(request), value).servers


@pytest.mark.usefixtures("uncovered")
def test_costs_are_found_with_which_the_law_gives_the_times(figures):
    machine = Machine()
    found = {figure.key: figure.value for figure in figures(machine)}
    assert found.keys() == {cost.key for cost in COSTS}
    layout = Layout(CLIENTS, 1, True)
    for request in read_requests(FAST):  # none of which is a reference
        if request.layout == layout:
            law = ByLaw(request, placement_of(layout, None))
            dry = dry_of(law.asked)
            times = [law.time(costs_of(law.asked, dry, x)).time for x in (found, KNOWN)]
            assert times[0] == pytest.approx(times[1], rel=0.05)
    of_reads = "servers.read_rate", "files.read_begin"
    for key in ("servers.synchronise", "servers.end", "messages.startup", *of_reads):
        assert found[key] == pytest.approx(KNOWN[key], rel=0.25)


@pytest.fixture
def few_steps(monkeypatch):
    """End fits early, where their costs do not matter."""
    monkeypatch.setattr("parcast.arrays.calibration.fitting.STEPS", 2)


@pytest.mark.usefixtures("few_steps", "uncovered")
def test_an_interval_holds_the_value_and_the_disk_is_tried_first(figures):
    machine = Machine(value=KNOWN | {"files.single_write_rate": 1e7}, scatter=0.1)
    for figure in figures(machine, rounds=4):
        assert 0 < figure.lower < figure.value < figure.upper
    trial, asked = machine.launches
    assert (len(trial.distinct), rounds_of(trial)) == (2, 3)
    assert (len(asked.distinct), rounds_of(asked)) == (33, 3)  # of a slow disk
    assert max(x.request.size for x in asked.distinct) == pytest.approx(SMALLEST, rel=0.01)


@dataclass
class Changing(Machine):
    """A machine that is slower in the rounds of its first launch of references."""

    def __call__(self, launch, *, report):
        """Make runs, of which those of the first launch take half as long again."""
        slower = 1.5 if len(self.launches) == 1 else 1.0  # after the trials
        longer = lambda run: report(replace(run, seconds=slower * run.seconds))  # noqa: E731 - short
        super().__call__(launch, report=longer)


def rounds_of(launch):
    return len(launch.cases) // len(launch.distinct) - 1


@pytest.mark.usefixtures("few_references", "uncovered")
def test_costs_of_a_machine_that_changes_are_of_more_rounds(measuring):
    changing, steady = Changing(), Machine()
    found = measuring(changing).figures(LAYOUT, rounds=6)
    assert found == measuring(steady).figures(LAYOUT, rounds=6)
    rounds = [*map(rounds_of, changing.launches)]
    assert rounds == [3, 3, 3, 4, 4]  # trials first
    assert [*map(rounds_of, steady.launches)] == [3, 3, 3]
    once = Changing()
    measuring(once).figures(LAYOUT, rounds=6, further=0)
    assert [*map(rounds_of, once.launches)] == [3, 3, 3]


@pytest.mark.usefixtures("few_references", "uncovered")
@pytest.mark.parametrize(("rate", "launches"), [(1e7, [3, 3]), (1e9, [3, 3, 2])])
def test_costs_of_slow_disks_are_measured_in_the_first_pass_only(
    measuring, tmp_path, monkeypatch, rate, launches
):
    dry = []
    run_dry = lambda known: dry.append(known) or dry_of(known)  # noqa: E731 - short
    monkeypatch.setattr("parcast.arrays.calibration.measure.dry_run", run_dry)
    machine = Machine(value=KNOWN | {"files.single_write_rate": rate})
    of = OfLayouts(measuring=measuring(machine))
    request = ArrayRequest(shape=[32, 16], client_mesh=[CLIENTS, 1], servers=1, dedicated=True)
    asked = [RequestCase(7, request)]
    first, second = (
        of.costs(asked, LAYOUT, folder=tmp_path, rounds=x, clock=Clock()) for x in (3, 2)
    )
    assert [*map(rounds_of, machine.launches)] == launches
    assert first.keys() == second.keys() == {*asked}
    assert len(dry) == len(KINDS) + 1  # once for each request


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_no_other_costs_matter_to_a_request_than_those_that_are_looked_up(layout):
    place = placement_of(layout, None)
    matter = set()
    for request in references(layout, SMALLEST).values():
        law = ByLaw(request, place)
        dry = dry_of(law.asked)
        keys = keys_of(law.asked, dry)
        others = {key: 3 * x for key, x in KNOWN.items() if key not in keys}
        first, second = (law.time(costs_of(law.asked, dry, x)) for x in (KNOWN, KNOWN | others))
        assert (first.time, components_of(first)) == (second.time, components_of(second))
        is_read = request.operation == "read"
        assert ("files.read_begin" in keys, "servers.begin" in keys) == (is_read, not is_read)
        matter |= {*keys}
    assert matter == KNOWN.keys()


@pytest.mark.parametrize("rate", [1e7, 1e9])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_reference_requests_are_of_their_layout_and_none_is_predicted(layout, rate):
    asked = references(layout, largest_size(layout, rate)) | trials(layout)
    listed = [x.shape[1:] for x in (*read_requests(FAST), *read_requests(SLOW))]
    for name, request in asked.items():
        assert request.layout == layout
        assert request.shape[1:] not in listed
        assert request.shape[0] % layout.clients == 0
        assert request.is_aligned != ("columns" in name)
        assert request.size <= 1.01 * (192 << 20)
    sizes = {name: request.carried.files.size for name, request in asked.items()}
    assert sizes["medium"] < sizes["medium, double-buffer"] <= WRITE_OUT
    assert WRITE_OUT < sizes["large"] < sizes["largest"]


def test_the_file_is_read_back_and_planned_with(measured, tmp_path, parcast):
    path = tmp_path / "costs.toml"
    measured.save(path)
    again = read_parameters(path)
    assert again == measured.parameters()
    assert again.name == 'a "new" machine'
    costs = again.costs()
    for side in (costs.clients, costs.servers):
        assert float(side.bandwidth) == pytest.approx(KNOWN["messages.bandwidth"])
        assert float(side.send_startup) == pytest.approx(KNOWN["messages.startup"])
    assert float(costs.servers.begin) == pytest.approx(KNOWN["servers.begin"])
    assert (costs.servers.through_cache, costs.protocol.nonblocking) == (True, True)
    assert costs.servers.partition == WRITE_OUT
    for key, value in costs.files.items():
        assert value == pytest.approx(KNOWN[f"files.{key}"])
    assert {f"files.{key}" for key in costs.files} == {x for x in KNOWN if x.startswith("files.")}
    told = ("plan", "io", "--shape", "16x16x16", "--clients", "2x2x1", "--costs", path)
    said = parcast(*told, "--servers", "1..2", "--writer", "double-buffer")
    assert said.status == 0
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


@pytest.mark.parametrize(
    ("keys", "rate", "opening"),
    [
        ({"shape": (64, 64)}, "files.single_write_rate", "servers.open_file"),
        ({"shape": (8, 8), "arrays": 32}, "files.few_write_rate", "servers.open_file"),
        ({"shape": (8, 8), "arrays": 63}, "files.few_write_rate", "servers.open_file"),
        ({"shape": (8, 8), "arrays": 64}, "files.many_write_rate", "files.many_open_file"),
        ({"shape": (1024, 1024)}, "files.single_write_rate", "servers.open_file"),
        ({"shape": (2048, 1024)}, "servers.write_rate", "servers.open_file"),
        (
            {"shape": (8, 8), "arrays": 32, "writer": "sync"},
            "files.sync_write_rate",
            "files.sync_open_file",
        ),
    ],
    ids=["one", "few", "all but one of 64", "64", "8 MiB", "large", "sync"],
)
def test_the_law_of_a_request_has_the_costs_of_its_files(measured, keys, rate, opening):
    costs = costs_in(measured, asked(**keys))
    assert float(costs.write_rate) == measured.value(rate)
    assert float(costs.open_file) == measured.value(opening)
    flush = "files.many" if "many" in opening else "servers."
    assert float(costs.synchronise) == measured.value(f"{flush}_synchronise".replace("._", "."))
    assert float(costs.memory_rate) == measured.value("servers.memory_rate")
    is_large = prod(keys["shape"]) * 8 > WRITE_OUT
    is_small = rate not in ("servers.write_rate", "files.sync_write_rate")
    assert (costs.partition > WRITE_OUT) == is_small
    assert float(costs.cache_rate) == (measured.value("servers.cache_rate") if is_large else inf)


@pytest.mark.parametrize(
    "keys",
    [
        {"shape": shape, "arrays": number, **others}
        for shape, number in (((8, 8), 1), ((8, 8), 32), ((8, 8), 200), ((2048, 1024), 1))
        for others in ({"writer": "sync"}, {"writer": "write-behind"}, {"operation": "read"})
    ],
    ids=str,
)
def test_a_plan_prices_files_as_a_validation(measured, keys):
    request = asked(**keys)
    own = costs_in(measured, request)
    saved = measured.parameters().costs().for_files(request.carried.files).servers
    names = ["write_rate", "open_file", "metadata", "begin"]
    if request.operation == "read":
        names += ["read_rate"]
    else:
        names += ["synchronise", "end", "memory_rate", "cache_rate", "partition"]
        names += ["flush"] if request.writer == "sync" else []
        names += ["commit"] if request.arrays < 64 else []
    for name in names:
        assert float(getattr(saved, name)) == pytest.approx(float(getattr(own, name))), name


def test_computing_is_as_slow_as_among_all_ranks():
    request = asked(shape=(16, 16), arrays=20)
    once, twice = (
        costs_of(
            request,
            dry_of(request),
            KNOWN | dict.fromkeys(("computing.time", "computing.bytes"), x),
        )
        for x in (1.0, 2.0)
    )
    assert float(twice.servers.find) == 2 * float(once.servers.find)
    assert float(twice.clients.copy_rate) == float(once.clients.copy_rate) / 2
    assert float(twice.servers.compression_rate) == float(once.servers.compression_rate) / 2
    reading = asked(shape=(16, 16), operation="read")
    costs = costs_of(reading, dry_of(reading), KNOWN)
    assert float(costs.clients.copy_rate) == float(costs.servers.place_rate) == inf
    assert float(costs.servers.open_file) == KNOWN["files.read_open_file"]
    assert float(costs.clients.bandwidth) == pytest.approx(KNOWN["messages.bandwidth"])
    new = replace(dry_of(reading), touch_rate=KNOWN["messages.bandwidth"])
    slow = float(costs_of(reading, new, KNOWN | {"computing.bytes": 2.0}).servers.bandwidth)
    assert slow == pytest.approx(KNOWN["messages.bandwidth"] / 3)


@pytest.mark.usefixtures("few_references", "uncovered")  # what ranks do, test_real_runs covers
def test_the_command_measures_on_ranks(parcast, tmp_path, monkeypatch):
    monkeypatch.setattr("parcast.arrays.calibration.measure.FURTHER", 0)
    monkeypatch.setattr("parcast.arrays.calibration.measure.shares", lambda _: [1])
    out = tmp_path / "costs.toml"
    said = parcast(
        "calibrate", "array-io", tmp_path, "-np", 1, "--servers", 1, "--quick", "-o", out, "--json"
    )
    assert said.status == 0, said.err
    document = json.loads(said.out)
    assert document["clients"] == document["servers"] == 1
    values = {row["key"]: row["value"] for row in document["rows"]}
    assert values["servers.cache_rate"] > 1e6
    assert values["messages.bandwidth"] > 1e6
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


def test_a_limit_of_time_holds_for_reference_requests_too(measuring):
    """Guards: a validation ran on for minutes beyond its limit, in its calibration."""
    left = []

    def killed(launch, **_):
        left.append(launch.time_limit)
        raise RunFailed("array I/O did not end and was killed.")

    own = measuring(killed)
    own.clock = Clock(limit=0.2)
    with pytest.raises(RunFailed, match="killed"):  # of itself, while there is time
        own.figures(LAYOUT)
    assert 0 < left[0] <= 0.2

    def late(launch, **_):
        time.sleep(launch.time_limit)
        raise RunFailed("array I/O did not end and was killed.")

    own.launcher = late
    with pytest.raises(TimeIsOver):
        own.figures(LAYOUT)
