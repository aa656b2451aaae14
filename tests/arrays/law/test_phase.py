"""I/O of a phase by the law of array I/O: fixtures, the rules of meshes, refusals."""

import numpy as np
import pytest

from parcast import Machine, Measurements, Program, fit, predict, read_program, simulate
from parcast.arrays.geometry import layouts
from parcast.arrays.geometry.batches import EqualArrays
from parcast.arrays.geometry.chunks import mesh_chunks
from parcast.arrays.geometry.meshes import cubic_mesh
from parcast.arrays.geometry.overlaps import overlaps
from parcast.arrays.geometry.subchunks import schema_subchunks, storage_subchunks
from parcast.arrays.law import phase as coupling
from parcast.arrays.law.parameters import read_costs
from parcast.arrays.law.phase import ArrayIO
from parcast.arrays.law.request import Options, request_time
from parcast.descriptions.toml_files import with_amounts
from parcast.errors import FileProblems, ParameterError
from tests.conftest import ROOT

COSTS = ROOT / "examples" / "arrays" / "sp2_like.toml"
SP2 = read_costs(COSTS)
SMALL = {"shape": [32, 16, 16], "dtype": "float64"}  # the arrays of the fixtures, 64 KB
FIXTURE = 24.699275934e-3  # of 2x4x4 clients and 8x1x1 servers [s]
MACHINE = Machine(storage={"servers": 8})
ALONE = {"law": "spmd", "compute": {"parallel": "8 s"}, "communication": {"group": "p"}}


def io_of(**keys):
    return {"law": "array_io", "costs": str(COSTS), **SMALL, **keys}


def program_of(**keys):
    """One phase whose processors are one group that does not vary: K = 1, h = 1."""
    return Program(phase=[{**ALONE, "io": io_of(**keys)}])


def priced(at, **keys):
    service = ArrayIO(**io_of(**keys)).service(at)
    return service.startup + service.transfer


def request(clients, servers, shape=(32, 16, 16), number=1, costs=SP2, **options):
    """The same request without any program."""
    subchunks = schema_subchunks(shape, servers, itemsize=8)
    arrays = EqualArrays(overlaps(mesh_chunks(shape, clients), subchunks), number)
    return request_time(arrays, costs, Options(**options))


# The service of the I/O is the time of a request


def test_one_group_without_variation_takes_exactly_the_request_longer():
    at = {"p": 32.0, "d": 8.0}
    with_io = program_of(client_mesh=[2, 4, 4]).times(MACHINE, at)
    without = Program(phase=[ALONE]).times(MACHINE, at)
    assert with_io.time - without.time == pytest.approx(FIXTURE, abs=5e-13)
    assert with_io.io == pytest.approx(FIXTURE, abs=5e-13)
    assert with_io.compute == without.compute == 0.25
    assert with_io.synchronisation == 0.0


def test_the_longest_intermediate_phase_is_what_servers_share():
    phase = program_of(client_mesh=[2, 4, 4]).phase[0]
    demand = phase.demands(MACHINE, {"p": 32.0})  # d is that of the machine
    assert demand.io_transfer / demand.d == pytest.approx(12.858075934e-3, abs=5e-13)
    assert demand.io_startup == pytest.approx(FIXTURE - 12.858075934e-3, abs=5e-13)


def test_aligned_servers_take_the_time_of_their_fixture():
    aligned = priced({"p": 32, "d": 8}, client_mesh=[2, 4, 4], server_mesh=[1, 2, 4])
    assert aligned == pytest.approx(18.146675934e-3, abs=5e-13)


def test_processors_that_vary_wait_for_the_slowest_and_then_write():
    phase = {**ALONE, "compute": {"parallel": "8 s", "variability": "exponential"}}
    at = {"p": 32.0, "d": 8.0}
    alone = Program(phase=[phase]).times(MACHINE, at)
    both = Program(phase=[{**phase, "io": io_of(client_mesh=[2, 4, 4])}]).times(MACHINE, at)
    assert both.time - alone.time == pytest.approx(FIXTURE, abs=5e-13)


def test_storage_chunks_reads_and_writers_are_those_of_the_law():
    keys = {"storage_chunk": [8, 16, 16], "inner_chunk": [2, 16, 16], "operation": "read"}
    keys |= {"writer": "double-buffer", "arrays": 3, "servers": 2}
    subchunks = storage_subchunks(
        (32, 16, 16), (8, 16, 16), servers=2, itemsize=8, inner=(2, 16, 16)
    )
    table = overlaps(mesh_chunks((32, 16, 16), (2, 2, 1)), subchunks)
    options = Options(operation="read", writer="double-buffer")
    expected = request_time(EqualArrays(table, 3), SP2, options).time
    assert priced({"p": 4.0}, **keys) == pytest.approx(expected, rel=1e-12)


def test_shape_arrays_and_servers_may_be_formulas():
    at = {"p": np.array([8.0, 16.0]), "d": 2.0, "n": np.array([[32.0], [64.0]])}
    times = priced(at, shape=["n", 16, 16], arrays="n / 8", servers="max(d, p/4)")
    for i, n in enumerate((32, 64)):
        for j, (clients, servers) in enumerate([((2, 2, 2), 2), ((4, 2, 2), 4)]):
            expected = request(clients, (servers, 1, 1), (n, 16, 16), number=n // 8).time
            assert times[i, j] == pytest.approx(expected, rel=1e-12)


def test_costs_that_are_varied_are_those_of_the_request():
    rates = np.array([1e6, 20e6])
    at = {"p": 32.0, "d": 8.0, "io.costs.servers.write_rate": rates}
    times = priced(at, arrays=64)
    doubled = priced({"p": 32.0, "d": 8.0, "io.costs.servers.write_rate*": 2.0}, arrays=64)
    for rate, time in [*zip(rates, times, strict=True), (2 * 2.23e6, float(doubled))]:
        servers = type(SP2.servers)(
            **{
                name: rate if name in ("write_rate", "read_rate") else getattr(SP2.servers, name)
                for name in SP2.servers.__dataclass_fields__
            }
        )
        costs = type(SP2)(clients=SP2.clients, servers=servers, protocol=SP2.protocol)
        expected = request((4, 4, 2), (8, 1, 1), number=64, costs=costs).time
        assert time == pytest.approx(expected, rel=1e-12)


def test_each_different_request_is_evaluated_once(monkeypatch):
    calls = []

    def counted(*arguments):
        calls.append(arguments)
        return request_time(*arguments)

    monkeypatch.setattr(coupling, "request_time", counted)
    predict(program_of(), MACHINE, p=[1, 4, 16], d=[1, 2], n=np.arange(1, 51))
    assert len(calls) == 6  # neither n nor the levels of contention make another request
    calls.clear()
    predict(program_of(servers=4), MACHINE, p=[1, 4, 16], d=[1, 2])
    assert len(calls) == 3  # d is not that of the request
    calls.clear()
    rates, free = "io.costs.servers.write_rate*", "io.costs.servers.open_file*"
    at = {"p": 4.0, "d": 2.0, rates: np.array([[1.0], [2.0]]), free: np.array([1.0, 3.0])}
    io = ArrayIO(**io_of())
    assert io.service(at).startup.shape == (2, 1)
    io.service({"p": 4.0, "d": 2.0, rates: 1.0})
    assert len(calls) == 2  # neither a factor of 1 nor one of a cost that is 0 makes another


def test_more_than_some_seconds_of_requests_are_refused_with_what_every_command_can_do(
    monkeypatch,
):
    monkeypatch.setattr("parcast.arrays.law.limits.MOST_PARTS", 1500)
    hint = r"servers\. Give fewer points, larger subchunks, or amounts without \+-\.$"
    with pytest.raises(ParameterError, match=hint):
        priced({"p": np.array([1.0, 4, 16]), "d": 2.0})


def test_each_geometry_is_computed_once_for_all_costs(monkeypatch):
    calls = []

    def counted(*arguments):
        calls.append(arguments)
        return overlaps(*arguments)

    monkeypatch.setattr(layouts, "overlaps", counted)
    at = {"p": np.array([1.0, 4, 16]), "d": 2.0}
    for held, times in ((10**6, 3), (0, 6)):
        monkeypatch.setattr(layouts, "_tables", {})
        monkeypatch.setattr(layouts, "HELD", held)
        calls.clear()
        for rate in (1e6, 2e6):
            priced(at | {"io.costs.servers.write_rate": rate})
        assert len(calls) == times
        assert len(layouts._tables) == (3 if held else 2)


# Meshes


def test_no_client_is_empty_where_that_can_be_avoided():
    assert cubic_mesh(64, "BBB", (2, 64, 64)) == (2, 8, 4)
    assert cubic_mesh(8, "B", (4,)) == (8,)
    assert cubic_mesh(6, "*B*", (1, 100, 1)) == (1, 6, 1)
    assert cubic_mesh(12, "BB", (5, 100)) == (4, 3)
    assert cubic_mesh(12, "BB", (5, 100), "hpf") == (3, 4)  # 4 blocks of 5 are 2, 2, 1 and 0


def test_the_rules_are_those_of_the_reference():
    at = {"p": 24.0, "d": 6.0}
    assert priced(at) == request((4, 3, 2), (6, 1, 1)).time
    assert priced(at, client_schema="BB*") == request((6, 4, 1), (6, 1, 1)).time
    assert priced(at, server_schema="*BB") == request((4, 3, 2), (1, 3, 2)).time
    assert priced(at, client_mesh=["p/8", 4, 2]) == request((3, 4, 2), (6, 1, 1)).time


# In commands and answers


def test_simulation_agrees():
    program = program_of(arrays=512)
    result = simulate(program, MACHINE, p=[4, 32], d=8)
    expected = predict(program, MACHINE, p=[4, 32], d=8).time
    assert np.ravel(result.time) == pytest.approx(np.ravel(expected), rel=1e-9)


def measured(program, p=(1, 2, 4, 8, 16, 32)):
    p = np.array(p, dtype=float)
    return Measurements(p=p, time=program.times(MACHINE, {"p": p}).time)


def test_a_fit_takes_the_costs_as_they_are_described():
    slower = Program(phase=[{**ALONE, "compute": {"parallel": "11 s"}, "io": io_of(arrays=64)}])
    result = fit(program_of(arrays=64), measured(slower), machine=MACHINE)
    assert [x.name for x in result.parameters] == ["compute.parallel"]
    assert result.parameters[0].value == pytest.approx(11.0, rel=1e-6)


@pytest.mark.usefixtures("uncovered")
def test_a_fit_finds_the_rate_of_the_disks_if_it_is_named(monkeypatch):
    monkeypatch.setattr("parcast.fitting.written.SETS", 10)  # how well it is known is not asked
    io = io_of(arrays=64)
    at = {"p": np.array([1.0, 4]), "io.costs.servers.write_rate": 1e6}
    program, machine = Program(phase=[{**ALONE, "io": io}]), Machine(storage={"servers": 2})
    runs = Measurements(p=at["p"], time=program.times(machine, at).time)
    name = "io.costs.servers.write_rate"
    result = fit(program, runs, machine=machine, free=[name], starts=1, interval=False)
    assert result.parameters[0].value == pytest.approx(1e6, rel=1e-4)


def test_amounts_of_another_file_are_not_written_into_the_program():
    program = program_of()
    name = "io.costs.servers.write_rate"
    text = '[[phase]]\nlaw = "spmd"\n[phase.io]\ncosts = "sp2.toml"\n'
    with pytest.raises(ParameterError, match=r'costs = "sp2.toml".*Copy the contents'):
        with_amounts(text, {name: "3 MB/s"}, program)
    inside = text.replace('costs = "sp2.toml"', '[phase.io.costs.servers]\nwrite_rate = "2 MB/s"')
    assert 'write_rate = "3 MB/s"' in with_amounts(inside, {name: "3 MB/s"}, program)


def test_uncertain_costs_give_an_interval():
    tables = {"servers": {"write_rate": "2.23 MB/s +- 20%"}}
    result = predict(program_of(arrays=512, costs=tables), MACHINE, p=[8], samples=32)
    assert result.lower[0] < result.time[0] < result.upper[0]


def test_clients_that_are_busy_for_longer_are_a_warning():
    slow = {"servers": {"write_rate": "1 GB/s"}, "clients": {"decode": "10 ms"}}
    few = {"costs": slow, "servers": 8, "arrays": 64}
    result = predict(program_of(**few), MACHINE, p=[2, 4])
    assert any("client 0 would be busy" in text for text in result.warnings)
    counted = predict(program_of(**few, contention=True), MACHINE, p=[2, 4])
    assert not any("would be busy" in text for text in counted.warnings)
    assert np.all(counted.time > result.time)


# Files


def written(folder, io, name="program.toml"):
    path = folder / name
    path.write_text(f'[[phase]]\nlaw = "spmd"\ncompute = {{ parallel = "8 s" }}\n[phase.io]\n{io}')
    return path


GOOD = 'law = "array_io"\nshape = [32, 16, 16]\ndtype = "float64"\n'


def test_costs_are_read_beside_the_program_or_in_it(tmp_path, monkeypatch):
    (tmp_path / "costs.toml").write_text(COSTS.read_text())
    named = read_program(written(tmp_path, f'{GOOD}costs = "costs.toml"\n'))
    monkeypatch.chdir(tmp_path)
    tables = COSTS.read_text().replace("\n[", "\n[phase.io.costs.").replace("name =", "#", 1)
    tables = tables.replace("source =", "#", 1)
    inside = read_program(written(tmp_path, GOOD + tables, "inside.toml"))
    at = {"p": 32.0, "d": 8.0}
    expected = request((4, 4, 2), (8, 1, 1)).time
    for program in (named, inside, read_program("program.toml")):
        assert program.times(MACHINE, at).io == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("io", "fault"),
    [
        ('law = "array"\n', 'line 5  phase 1, io.law  must be "array_io"'),
        ('shape = [4]\ncosts = "c.toml"\n', 'io.law  must be "array_io", got none'),
        (GOOD, "io.costs  must be the path of a file of costs, or its tables, got none"),
        (f'{GOOD}costs = "no.toml"\n', "line 8  phase 1, io.costs  cannot be used: .*no.toml"),
        (f'{GOOD}costs = "bad.toml"\n', "bad.toml, line 2, servers.write_rate: must be a rate"),
        (f'{GOOD}costs = "c.toml"\nmesh = 2\n', "line 9  phase 1, io.mesh  is not a known key"),
        (f'{GOOD}costs = "c.toml"\nkind = "striped"\n', "io.kind  is not a known key"),
        (f"{GOOD}[phase.io.costs.servers]\n", "line 8  phase 1, io.costs.servers.write_rate"),
        (f'{GOOD}costs = "c.toml"\nclient_mesh = "cube"\n', 'must be "cubic" or a list'),
        (f'{GOOD}costs = "c.toml"\nclient_mesh = [2, 2]\n', "for each of the 3 dimensions"),
        (f'{GOOD}costs = "c.toml"\nclient_schema = "BXB"\n', "must be text of B and [*]"),
        (f'{GOOD}costs = "c.toml"\nitemsize = "8 B"\n', "cannot be combined with itemsize"),
        (f'{GOOD}costs = "c.toml"\ninner_chunk = [2, 2, 2]\n', "requires storage_chunk"),
        (f'{GOOD}costs = "c.toml"\narrays = "3 +- 1"\n', r"must have no \+-"),
        (GOOD.replace("float64", "object") + 'costs = "c.toml"\n', "NumPy type of fixed size"),
        (GOOD.replace("16, 16", '"k"') + 'costs = "c.toml"\n', "io.shape  in dimension 2"),
        ('law = "array_io"\nshape = [2]\ncosts = "c.toml"\n', "io.dtype  must be given, or item"),
    ],
)
def test_faults_are_told_with_their_place(tmp_path, io, fault):
    (tmp_path / "c.toml").write_text(COSTS.read_text())
    (tmp_path / "bad.toml").write_text('[servers]\nwrite_rate = "3 MB"\n')
    with pytest.raises(FileProblems, match=fault):
        read_program(written(tmp_path, io))


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ({"client_mesh": [2, 4, 4]}, "io.client_mesh must have as many .* 6, got 2x4x4 = 32"),
        ({"client_mesh": ["p/4", 2, 2]}, "io.client_mesh in dimension 1 must be a whole .* p = 6"),
        ({"client_mesh": ["p", 1, 1], "client_schema": "*BB"}, "io.client_mesh must have 1 pos"),
        ({"client_schema": "***"}, "io.client_schema must have a B for 6 nodes"),
        ({"server_mesh": [3, 1, 1]}, "io.server_mesh must have as many positions .* 8"),
        ({"servers": "p/4"}, "io.servers must be a whole number of at least 1, got 1.5 at p = 6"),
        ({"subchunk": "4 B"}, "io at p = 6, d = 8: subchunk must hold one element"),
        ({"shape": ["n", 4, 4]}, "io.shape in dimension 1 must have a value for .* n"),
    ],
)
def test_points_that_a_request_does_not_fit_are_refused(keys, fault):
    with pytest.raises(ParameterError, match=fault):
        program_of(**keys).times(MACHINE, {"p": 6.0})


def test_the_schema_has_both_kinds_of_io():
    definitions = Program.model_json_schema()["$defs"]
    either = definitions["SpmdPhase"]["properties"]["io"]["anyOf"]
    kinds = {each["$ref"].rpartition("/")[2] for each in either}
    assert kinds == {"InputOutput", "ArrayIO"} <= definitions.keys()
    assert "servers" in definitions["ArrayIO"]["properties"]


def test_io_must_be_a_table():
    with pytest.raises(ParameterError, match=r"io  must be a table of keys, got 5"):
        Program(phase=[{**ALONE, "io": 5}])
