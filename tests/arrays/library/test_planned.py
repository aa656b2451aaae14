"""Plans of writes: what they choose, that servers keep to them, and what is refused."""

import json
import re
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from parcast.arrays.geometry.boxes import block_of
from parcast.arrays.geometry.meshes import fitting_meshes
from parcast.arrays.law.contention import Placement
from parcast.arrays.law.parameters import read_costs
from parcast.arrays.law.request import request_time
from parcast.arrays.library.client import DescribedRequest, Own
from parcast.arrays.library.distribution import Block
from parcast.arrays.library.master import laid_out, schema_of
from parcast.arrays.library.plans import by_plan, spread
from parcast.arrays.library.schema import LIMIT
from parcast.arrays.library.session import connect
from parcast.arrays.planning.plan_io import plan_io
from parcast.arrays.planning.pricing import arrays_of, options_of
from parcast.arrays.planning.writes import (
    NOTICED,
    counts_of,
    in_rows,
    plan_for,
    plan_write,
    wanted,
)
from parcast.arrays.store.reading import open_store
from parcast.errors import ParameterError, ParcastError, RunFailed

HERE = Path(__file__).parent
COSTS = HERE.parents[2] / "examples" / "arrays" / "sp2_like.toml"
SP2 = read_costs(COSTS)
AUTO = wanted("auto", None, None, None)


def schema_for(shape, mesh, *, number=1, stack=""):
    """Schema of a write of equal arrays, as the client master makes it without a plan."""
    options = {"writer": "double-buffer", "batch": True, "limit": LIMIT, "stack": stack}
    names = [f"a{i}" for i in range(number)]
    described = [
        DescribedRequest(
            "write",
            "x.zarr",
            options,
            tuple((name, Own(shape, "<f8", (block_of(shape, mesh, i),))) for name in names),
        )
        for i in range(np.prod(mesh))
    ]
    return schema_of(described, described[0], laid_out(described[0], servers=4))


def with_rates(rates):
    """Costs whose servers write at these rates [B/s]."""
    return replace(SP2, servers=replace(SP2.servers, write_rate=np.array(rates)))


@pytest.mark.parametrize(("ranks", "servers", "kind"), [(2, 2, "shared"), (4, 2, "dedicated")])
def test_servers_do_what_the_plan_has_priced(ran, tmp_path, ranks, servers, kind):
    status, out, err = ran(HERE / "planned_writes.py", servers, kind, COSTS, tmp_path, ranks=ranks)
    assert (status, out, err) == (0, "", "")
    clients = ranks - servers * (kind == "dedicated")
    assert len({(tmp_path / f"plans-{i}").read_text() for i in range(clients)}) == 1
    for i in range(clients):
        text = (tmp_path / f"odd-{i}").read_text()
        assert re.match("All clients must give the same (options|plan): client ", text)
        assert '"auto"' in text
    assert not (tmp_path / "odd.zarr").exists()


@pytest.mark.parametrize(("number", "mesh"), [(1, (3, 2, 2)), (7, (2, 1, 3))])
def test_no_mesh_or_number_of_servers_is_noticeably_faster(number, mesh):
    shape, servers = (60, 32, 40), 6
    schema = schema_for(shape, mesh, number=number)
    wanted = replace(AUTO, subchunks=(50_000,), writers=("double-buffer",))
    plan = plan_write(schema, SP2, wanted, servers=servers)
    times = {}
    for count in range(1, servers + 1):
        for cut in {*fitting_meshes(count, shape), (1, 1, 1)}:
            rows = in_rows(schema, count, subchunk=50_000, writer="double-buffer", mesh=cut)
            tried = by_plan(schema, rows, servers=servers)
            options = replace(options_of(tried), contention=True)
            times[count, cut] = request_time(arrays_of(tried, servers), SP2, options).time
    assert times[plan.servers, plan.mesh] == pytest.approx(plan.time)
    least = min(times.values())
    assert plan.time <= least * (1 + NOTICED)
    fewest = min(count for (count, _), time in times.items() if time <= least * (1 + NOTICED))
    assert plan.servers == fewest


def test_subchunks_and_writers_are_those_of_the_least_time_unless_they_are_given():
    # Finding overlaps takes as long as writing 8 MB: fewer, larger subchunks are better.
    slow = replace(SP2, servers=replace(SP2.servers, find=np.array(4.0)))
    schema = schema_for((256, 256, 64), (2, 2, 1))
    assert plan_write(schema, slow, AUTO, servers=2).subchunk == 4 * LIMIT
    given = replace(AUTO, subchunks=(LIMIT,), writers=("sync",))
    plan = plan_write(schema, slow, given, servers=2)
    assert (plan.subchunk, plan.writer) == (LIMIT, "sync")
    # The first subchunk is gathered before anything is written: smaller ones are better.
    plan = plan_write(schema, SP2, AUTO, servers=2)
    assert (plan.subchunk, plan.writer) == (LIMIT // 4, "double-buffer")
    # On a disk this slow, all of them take as long.
    plan = plan_write(schema, with_rates([1e4, 1e4]), AUTO, servers=2)
    assert (plan.subchunk, plan.writer) == (LIMIT, "double-buffer")


@pytest.mark.parametrize(("stack", "on_disk", "files"), [("", 30, 30), ("all", 1, 1)])
def test_each_array_on_disk_has_its_metadata_and_files_once(stack, on_disk, files):
    # Servers have 7, 7, 7, 7 and 4 rows, so that each of them is priced by itself.
    schema = schema_for((32, 16, 16), (2, 1, 1), number=30, stack=stack)
    rows = in_rows(schema, 5, subchunk=LIMIT, writer="write-behind", mesh=(5, 1, 1))
    planned = by_plan(schema, rows, servers=5)
    costs = replace(SP2, servers=replace(SP2.servers, metadata=np.array(2.0)))
    times = [
        request_time(arrays_of(planned, 5), x, options_of(planned)).startup[0]
        for x in (costs, SP2)
    ]
    assert times[0] - times[1] == pytest.approx(on_disk * 2.0)
    opened = replace(SP2, servers=replace(SP2.servers, open_file=np.array(3.0)))
    waits = [
        request_time(arrays_of(planned, 5), x, options_of(planned)).file_system.max()
        for x in (opened, SP2)
    ]
    assert waits[0] - waits[1] == pytest.approx(files * 3.0)


@pytest.mark.parametrize(("rows", "clients", "is_known"), [(12, 4, True), (14, 2, False)])
def test_a_given_plan_has_a_time_only_where_servers_get_what_was_priced(rows, clients, is_known):
    # Of 14 rows servers should have 4, 4, 3 and 3: storage chunks are equal but for the last.
    schema = schema_for((rows,), (clients,))
    plan = plan_io(f"{rows}", f"{clients}", servers=[4], subchunk=16, costs=COSTS)
    found = plan_for(schema, wanted(plan, None, None, None), None, serving=[-1] * 4)
    assert (found.time is not None) is is_known
    other = schema_for((rows,), (clients,), number=2)
    found = plan_for(other, wanted(plan, None, None, None), None, serving=[-1] * 4)
    assert found.time is None


def test_servers_that_are_clients_too_are_priced_as_both():
    schema = schema_for((64, 64, 64), (2, 2, 1))
    fast = replace(SP2, servers=replace(SP2.servers, write_rate=np.array(1e9)))
    found = {}
    for serving in ((-1, -1), (1, 3)):
        wanted = replace(AUTO, subchunks=(LIMIT,), writers=("write-behind",))
        plan = found[serving] = plan_for(schema, wanted, fast, serving=serving)
        planned = by_plan(schema, plan, servers=2)
        own = [serving[i] for i in planned.servers]
        place = Placement(clients=[0] * 4, servers=[0] * len(own), serving=own)
        options = replace(options_of(planned), contention=True, placement=place)
        assert plan.time == request_time(arrays_of(planned, 2), fast, options).time
    # Half of what a server gathers lies on its own rank: it takes no link.
    assert found[1, 3].time < 0.9 * found[-1, -1].time


def test_a_slow_disk_is_left_out():
    schema = schema_for((64, 64, 64), (2, 2, 1))
    assert plan_write(schema, with_rates([2e6, 2e6, 1e4]), AUTO, servers=3).servers == 2
    assert plan_write(schema, with_rates([2e6, 2e6, 2e6]), AUTO, servers=3).servers == 3


@pytest.mark.parametrize(("servers", "count"), [*product([1, 2, 5, 16, 17, 300], [1, 2, 3])])
def test_servers_that_take_part_are_spread_evenly(servers, count):
    counts = counts_of(servers)
    assert counts == sorted(set(counts))
    assert (counts[-1], len(counts)) == (servers, min(servers, 16))
    places = spread(min(count, servers), servers)
    assert places[0] == 0
    assert len(set(places)) == min(count, servers)
    assert places[-1] < servers


def test_a_plan_made_before_the_job_is_kept_to(tmp_path):
    values = np.arange(24_000.0).reshape(30, 20, 40)
    held = {"u": Block(values, values.shape, (1, 1, 1))}
    planned = plan_io(values.shape, (1, 1, 1), servers=[1], writer="sync", subchunk=16_384)
    with connect() as io:
        written = io.write(tmp_path / "u", held, plan=planned)
        assert (written.plan.writer, written.plan.subchunk) == ("sync", 16_384)
        assert written.plan.time == planned.best.time
        again = io.write(tmp_path / "v", held, plan=planned.best, subchunk=8192)
        assert (again.plan.writer, again.plan.subchunk) == ("sync", 8192)
        assert io.write(tmp_path / "w", held).plan is None
        handle = io.write(tmp_path / "x", held, plan=planned, wait=False)
        assert handle.wait().plan == written.plan
    with open_store(tmp_path / "u") as store:
        assert store["u"].subchunk == (2, 20, 40)
        assert np.array_equal(store["u"].read(), values)


def test_what_a_call_wants_is_said_in_words():
    assert repr(AUTO) == '"auto"'
    assert repr(wanted("auto", 4096, "sync", "a.toml")) == (
        '"auto" by a.toml, subchunks of 4096 B, sync'
    )
    before = plan_io((64, 64), (2, 2), servers=[4], costs=COSTS)
    assert repr(wanted(before, None, None, None)) == (
        f"4 servers as 2x2 in {before.best.time:.4g} s, subchunks of 1048576 B, write-behind"
    )


def refusals(folder):
    """Costs of a connection, a plan, and what is said of them."""
    eight = plan_io((16, 16), (1, 1), servers=[8])
    flat = plan_io((256,), (1,), servers=[1])
    yield None, "auto", "left out where the connection has no costs of the machine"
    yield None, "auto", r"parcast calibrate array-io FOLDER -o costs.toml"
    yield folder / "none.toml", "auto", "none.toml: 1 problem"
    yield HERE / "test_planned.py", "auto", "test_planned.py"
    yield with_rates([1e6, 1e6]), "auto", "one for each of the 1 servers, got 2"
    yield COSTS, "best", "plan must be \"auto\", or a plan of parcast.plan_io, got 'best'"
    yield COSTS, eight, r"for at most the 1 servers of the connection, got 8 servers"
    yield COSTS, flat, "for arrays of the same dimensions, got a mesh of 1, 1"


def test_what_is_no_plan_is_refused_and_the_session_goes_on(tmp_path):
    held = {"u": Block(np.ones((16, 16)), (16, 16), (1, 1))}
    for costs, plan, words in refusals(tmp_path):
        with connect(costs=costs) as io:
            with pytest.raises((ParameterError, RunFailed, ValueError), match=words):
                io.write(tmp_path / "u", held, plan=plan)
            assert not (tmp_path / "u").exists()
            io.write(tmp_path / "u", held)
            (tmp_path / "u").rename(tmp_path / f"done-{words[:9]}-{len(list(tmp_path.iterdir()))}")


def metadata_of(path):
    """Extents of the storage chunks and subchunks of an array on disk."""
    document = json.loads((path / "u" / "zarr.json").read_text())
    (codec,) = document["codecs"]
    chunk = document["chunk_grid"]["configuration"]["chunk_shape"]
    return tuple(chunk), tuple(codec["configuration"]["chunk_shape"])


@pytest.mark.parametrize(
    ("storage", "inner", "pick"),
    [
        ((16, 128, 64), None, "plan"),
        ((8, 8, 8), "half", "best"),
        ((64, 64, 64), 1, "last"),
        ((7, 50, 3), None, "best"),
        ((1, 1, 64), "half", "plan"),
    ],
)
def test_storage_chunks_of_a_plan_are_those_on_disk(tmp_path, storage, inner, pick):
    shape = (16, 128, 64)
    values = np.arange(float(np.prod(shape))).reshape(shape)
    if inner is not None:
        inner = tuple(n // 2 if n % 2 == 0 and inner == "half" else n for n in storage)
    if np.prod(-(-np.array(shape) // storage)) > 3000:
        shape, values = (2, 3, 64), values[:2, :3]
    planned = plan_io(shape, (1, 1, 1), servers=[1], storage=storage, inner=inner, costs=COSTS)
    given = {"plan": planned, "best": planned.best, "last": planned.plans[-1]}[pick]
    with connect() as io:
        written = io.write(tmp_path / "s", {"u": Block(values, shape, (1, 1, 1))}, plan=given)
    assert metadata_of(tmp_path / "s") == (storage, inner or storage)
    assert written.plan.chunks == (storage, inner or storage)
    assert written.plan.time == planned.best.time
    assert written.plan.mesh == tuple(-(-n // c) for n, c in zip(shape, storage, strict=True))
    with open_store(tmp_path / "s") as store:
        assert np.array_equal(store["u"].read(), values)


def test_every_plan_of_a_mesh_is_kept_to_or_refused():
    for shape in ((12, 9, 10), (16, 8, 4), (5, 5, 5), (30, 7, 1)):
        schema = schema_for(shape, (1, 1, 1))
        planned = plan_io(shape, (1, 1, 1), servers=range(1, 7), subchunk=256, costs=COSTS)
        for plan in planned.plans:
            asked = wanted(plan, None, None, None)
            share = [-(-n // m) for n, m in zip(shape, plan.mesh, strict=True)]
            cells = tuple(-(-n // s) for n, s in zip(shape, share, strict=True))
            if cells != plan.mesh:
                with pytest.raises(ParameterError, match="in equal storage chunks"):
                    plan_for(schema, asked, None, serving=[-1] * 6)
                continue
            found = plan_for(schema, asked, None, serving=[-1] * 6)
            assert (found.servers, found.mesh, found.subchunk) == (plan.servers, plan.mesh, 256)
            (kind,) = by_plan(schema, found, servers=6).kinds
            assert tuple(-(-n // c) for n, c in zip(shape, kind.chunk, strict=True)) == plan.mesh
            assert 8 * np.prod(kind.inner) <= 256
            assert (kind.chunk == tuple(share)) or found.time is None


def test_what_else_a_plan_has_is_done(tmp_path):
    many = {f"a{i}": Block(np.full((4, 4), i), (4, 4), (1, 1)) for i in range(6)}
    plan = partial(plan_io, (4, 4), (1, 1), servers=[1], arrays=6, dtype="int64", costs=COSTS)
    with connect() as io:
        messages = {
            batch: io.write(tmp_path / f"{batch}", many, plan=plan(batch=batch))
            .servers[0]
            .messages
            for batch in (False, True)
        }
        assert messages == {False: 6, True: 1}
        written = io.write(tmp_path / "own", many, plan=plan(), batch=True)
        assert written.servers[0].messages == 1
        with pytest.raises(ParcastError, match="plan must have batch=True or batch=False, got"):
            io.write(tmp_path / "x", many, plan=plan(batch=4))
        with pytest.raises(ParcastError, match="plan must be of a write, got one of a read"):
            io.write(tmp_path / "x", many, plan=plan(operation="read"))
        assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("keys", "options", "path", "says"),
    [
        ({"storage": (4, 4)}, {"subchunk": 64}, "x", "subchunk must be left out with a plan of"),
        ({"storage": (4, 4)}, {"stack": "all"}, "x", "one that can be followed, got stack='all'"),
        ({}, {"stack": "all"}, "x", "be one that can be followed, got stack='all'"),
        ({"storage": (4, 4)}, {}, "x.npy", "got storage chunks, which a .npy file has not"),
        ({"storage": (4, 4, 1), "shape": (8, 8, 1)}, {}, "x", "storage chunks of 3, 4x4x1"),
    ],
)
def test_what_cannot_be_followed_is_refused(tmp_path, keys, options, path, says):
    keys = dict(keys)
    shape = keys.pop("shape", (8, 8))
    plan = plan_io(shape, (1,) * len(shape), servers=[1], costs=COSTS, **keys)
    held = {"u": Block(np.ones((8, 8)), (8, 8), (1, 1))}
    with connect() as io:
        with pytest.raises(ParcastError) as caught:
            io.write(tmp_path / path, held, plan=plan, **options)
        assert says in str(caught.value)
        assert not (tmp_path / path).exists()


def test_a_npy_file_follows_a_mesh_of_rows_only():
    described = schema_for((8, 8), (1, 1))
    schema = replace(described, path="x.npy")
    planned = plan_io((8, 8), (1, 1), servers=[2], costs=COSTS)
    plans = {plan.mesh: wanted(plan, None, None, None) for plan in planned.plans}
    found = plan_for(schema, plans[2, 1], None, serving=[-1] * 2)
    assert by_plan(schema, found, servers=2).kinds[0].chunk == (4, 8)
    with pytest.raises(
        ParameterError, match=r"a mesh of 1x2, and a \.npy file is written by rows"
    ):
        plan_for(schema, plans[1, 2], None, serving=[-1] * 2)
