"""The parts of the engine by themselves: tree, payload, store, items, checkpoint, checks."""

import json
import os
import pickle
import threading
import time
from multiprocessing import Pipe

import numpy as np
import pytest

from parcast.errors import FileProblems, ParameterError, RunFailed
from parcast.mpi import payload
from parcast.mpi.messages import LoneChannel, Message
from parcast.mpi.payload import packed, portable, read_value, unpacked
from parcast.pipeline.engine import rank as engine_rank
from parcast.pipeline.engine.checkpoint import RunCheckpoint, has_manifest
from parcast.pipeline.engine.coordinator import HeldNode, Input, TaskBlock
from parcast.pipeline.engine.items import Items
from parcast.pipeline.engine.job import Job, Skipped
from parcast.pipeline.engine.root import Root
from parcast.pipeline.engine.starting import LONGEST_ADDRESS, _last_said, address
from parcast.pipeline.engine.store import ValueStore
from parcast.pipeline.engine.tree import Merge, Node
from parcast.pipeline.engine.worker import HostItems, ItemHost
from parcast.pipeline.engine.working import (
    CheckedMerge,
    same,
)

PAIR = Merge(lambda a, b: f"({a}{b})")


VALUES = {
    "small": np.arange(5),
    "large": np.arange(100_000.0),
    "Fortran": np.asfortranarray(np.arange(90_000.0).reshape(300, 300)),
    "strided": np.arange(400_000)[::3],
    "zero": np.zeros((0, 7)),
    "objects": np.array([{"a": 1}, None, "x"], dtype=object),
    "nested": {"a": [np.ones(20_000), "x"], 3: (np.float32(1.5), None)},
    "records": np.zeros(9000, dtype=[("a", "i4"), ("b", "f8")]),
    "bytes": bytearray(200_000),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_travel_as_they_are_and_large_buffers_by_themselves(name):
    value = VALUES[name]
    head, buffers = packed(value)
    again = unpacked(head, [bytearray(buffer) for buffer in buffers])
    np.testing.assert_equal(again, value)
    large = name in ("large", "Fortran", "nested", "records")  # a strided one is copied
    assert bool(buffers) == large
    assert not large or len(head) < 1000
    if isinstance(value, np.ndarray):
        assert again.dtype == value.dtype
        assert again.flags.f_contiguous or not value.flags.f_contiguous
        assert again.flags.writeable


def test_what_has_no_module_travels_by_value():
    scale = 3
    head, buffers = packed(lambda x: scale * x)
    assert unpacked(head, buffers)(5) == 15
    assert pickle.loads(portable([1, "a"])) == [1, "a"]
    assert pickle.loads(portable(lambda: scale))() == 3
    assert pickle.loads(portable("only the text __main__")) == "only the text __main__"
    assert pickle.loads(portable(lambda: scale)).__code__.co_filename == __file__
    for refused in (threading.Lock(), (x for x in "a")):
        with pytest.raises(TypeError, match="cannot pickle"):
            packed(refused)


def test_results_above_the_budget_lie_on_disk_until_they_are_taken(tmp_path):
    kept = ValueStore(tmp_path, 20_000)
    names = [Node(0, 0, i) for i in range(6)]
    for i, name in enumerate(names):
        assert kept.put(name, np.full(1000, float(i))) >= 8000
    assert all(name in kept for name in names)
    assert len(list(tmp_path.iterdir())) == 4
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) > 32_000
    for i, name in enumerate(names):
        assert kept.take(name).tolist() == [i] * 1000
    assert not list(tmp_path.iterdir())
    assert not any(name in kept for name in names)
    assert kept._in_memory == 0


def test_a_value_of_a_checkpoint_is_read_when_it_is_needed_and_saved_again(tmp_path):
    path, again = tmp_path / "a", tmp_path / "b"
    payload.write_value(path, {"x": 1}, durable=True)
    kept = ValueStore(None, None)
    kept.adopt(Node(0, 1, 0), path, 99.0)
    assert kept.save(Node(0, 1, 0), again).size == again.stat().st_size
    assert kept.take(Node(0, 1, 0)) == {"x": 1} == read_value(again)
    assert path.exists()  # the checkpoint removes it
    kept.put(Node(0, 0, 0), lambda: 5)
    kept.save(Node(0, 0, 0), again)
    assert read_value(again)() == 5


def checkpoint_of(folder, every=0.0, **signature):
    return RunCheckpoint(folder, every, {"fan_in": 2, "name": "x"} | signature)


def test_a_checkpoint_names_the_nodes_that_no_other_contains(tmp_path):
    kept = ValueStore(None, None)
    nodes = [Node(0, 0, 0), Node(0, 0, 1), Node(0, 0, 2), Node(0, 1, 0)]
    first = checkpoint_of(tmp_path)
    for held in (nodes[:3], nodes[2:]):
        for name in held:
            if name not in kept:
                kept.put(name, str(name))
        for rank, names in first.due([HeldNode(1, name, 1.0) for name in held]):
            assert first.is_awaited
            files = [(name, kept.save(name, path)) for name, path in names]
            assert rank == 1
            first.saved(files)
        assert first.is_complete
        first.write(0, 5, [Skipped(7, "a", "b", "c")])
    assert {x.name for x in tmp_path.iterdir()} == {
        "0-0-2-0.node",
        "0-1-0-0.node",
        "checkpoint.json",
    }
    again = checkpoint_of(tmp_path).read()
    assert [(node, path.name) for node, path, _ in again.nodes] == [
        (nodes[2], "0-0-2-0.node"),
        (nodes[3], "0-1-0-0.node"),
    ]
    assert (again.delivered, again.fetched) == (0, 5)
    assert again.skipped == (Skipped(7, "a", "b", "c"),)
    assert has_manifest(tmp_path)
    first.clear()
    assert not list(tmp_path.iterdir())


def test_nodes_without_items_and_delivered_reductions_need_no_files(tmp_path):
    mine = checkpoint_of(tmp_path)
    assert list(mine.due([HeldNode(-1, Node(3, 0, 1), 0.0)])) == []
    mine.write(3, 9, [])
    found = checkpoint_of(tmp_path).read()
    assert found.nodes == ((Node(3, 0, 1), None, (0.0, 0)),)
    assert found.delivered == 3
    assert list(mine.due([])) == []
    mine.write(4, 12, [])
    assert checkpoint_of(tmp_path).read().nodes == ()
    waiting = checkpoint_of(tmp_path, every=60.0)
    assert list(waiting.due([HeldNode(0, Node(0, 0, 0), 1.0)])) == []
    assert not waiting.is_complete


def test_a_checkpoint_of_another_job_or_a_broken_one_is_refused(tmp_path):
    assert checkpoint_of(tmp_path).read() is None
    mine = checkpoint_of(tmp_path)
    ((_, ((_, path),)),) = mine.due([HeldNode(0, Node(0, 0, 0), 1.0)])
    mine.saved([(Node(0, 0, 0), payload.write_value(path, 1, durable=True))])
    mine.write(0, 1, [])
    with pytest.raises(
        ParameterError, match=r"another run \(fan_in: 2 before, 3 now\)\. Give the same, or start"
    ):
        checkpoint_of(tmp_path, fan_in=3).read()
    manifest = (tmp_path / "checkpoint.json").read_text()
    (tmp_path / "checkpoint.json").write_text(manifest.replace('"items": 1', '"items": 3'))
    with pytest.raises(FileProblems, match=r"is damaged .*have changed.*Delete it to work on all"):
        checkpoint_of(tmp_path).read()
    (tmp_path / "checkpoint.json").write_text("{")
    with pytest.raises(FileProblems, match="cannot be read: "):
        checkpoint_of(tmp_path).read()
    (tmp_path / "checkpoint.json").write_text(json.dumps({"schema": "other"}))
    with pytest.raises(FileProblems, match="must have the schema"):
        checkpoint_of(tmp_path).read()
    with pytest.raises(
        RunFailed, match=r"rank 0 does not see 0-0-1-0\.node, which another rank has"
    ):
        mine.saved([(Node(0, 0, 1), payload.WrittenValue(1.0, 1))])


class Total:
    def __init__(self, total):
        self.total = total


def test_a_merge_that_is_not_associative_is_found():
    checked = CheckedMerge(lambda a, b: (a + b) / 2)
    checked.see(0, 1.0)
    checked.see(1, 2.0)
    with pytest.raises(
        RunFailed, match=r"not associative: of items 0, 1, 2, .* is 2\.25 and .*1\.75"
    ):
        checked.see(2, 3.0)


def test_a_merge_that_rounds_or_changes_its_arguments_passes_the_check():
    def add(a, b):
        a["x"] += b["x"]
        return a

    merges = [
        (lambda a, b: a + b, lambda i: 0.1 * i),
        (lambda a, b: a + b, lambda i: np.full(3, 0.1 * i)),
        (lambda a, b: a + b, lambda i: np.full(3, 0.1 * i, "f4")),
        (lambda a, b: a + b, lambda i: (0.1, 0.2, -0.3)[i % 3]),
        (add, lambda i: {"x": (0.1, 0.2, -0.3)[i % 3]}),
        (add, lambda i: {"x": [i]}),
        (lambda a, b: Total(a.total + b.total), lambda i: Total(0.1 * i)),
    ]
    for merge, value in merges:
        checked = CheckedMerge(merge)
        for i in range(60):
            checked.see(i, value(i))


def test_a_merge_may_refuse_results_that_are_not_neighbours():
    def join(a, b):
        assert a[1] == b[0]
        return a[0], b[1]

    checked = CheckedMerge(join)
    for i in (0, 2, 4, 5, 6, 7):
        checked.see(i, (i, i + 1))


@pytest.mark.parametrize(
    ("a", "b", "are"),
    [
        (1, 1, True),
        (1, 2, False),
        (float("nan"), float("nan"), True),
        (1.0, 1.0 + 1e-14, True),
        ({"a": 1}, {"b": 1}, False),
        ([1, 2], (1, 2), True),
        (np.array([1, 2]), np.array([1, 3]), False),
        (np.array([1, 2]), np.array([1.0, 2]), False),
        (np.array([np.nan, 1e9]), np.array([np.nan, 1e9 + 1e-3]), True),
        ("a", "b", False),
    ],
)
def test_results_are_the_same_but_for_rounding(a, b, are):
    assert same(a, b) is are


def test_items_are_asked_for_ahead_and_large_messages_block_nobody():
    ours, theirs = Pipe()
    large = b"x" * 4_000_000
    asked, may_answer = [], threading.Event()

    def process():
        while True:
            message = pickle.loads(theirs.recv_bytes())
            may_answer.wait()
            asked.append(message[:1] if message[0] == "reduction" else message)
            if message[0] == "stop":
                return
            answer = ([large, 7], len(asked) > 2, False) if message[0] == "items" else None
            theirs.send_bytes(pickle.dumps(answer))

    thread = threading.Thread(target=process, daemon=True)
    thread.start()
    host = ItemHost(ours)
    items = HostItems(host, None)
    assert not items.is_ready()  # they are asked for now
    assert items.asked
    may_answer.set()
    assert host.ask("reduction", large) is None
    assert items.is_ready()
    assert items.asked is None
    assert [next(items), next(items)] == [large, 7]
    assert list(items) == [large, 7]
    assert items.is_ready()  # the end
    host.say("stop")
    thread.join()
    assert asked == [("items", 1), ("reduction",), ("items", 2), ("stop",)]


def test_what_a_rank_said_before_it_ended_is_read_after_all():
    ours, theirs = Pipe()
    for message in (("progress", 1, 2, None), ("failed", RunFailed("this one")), ("more",)):
        theirs.send(message)
    theirs.close()
    assert str(_last_said(ours)) == "this one"
    assert _last_said(ours) is None


def test_a_socket_has_a_short_name_in_a_folder_with_a_long_one(tmp_path):
    folder = tmp_path / ("x" * LONGEST_ADDRESS)
    folder.mkdir()
    with address(folder) as name:
        assert len(name) <= LONGEST_ADDRESS
        (folder / "items").touch()
        assert os.path.exists(name)
    assert not os.path.exists(name)
    with address(tmp_path) as name:
        assert os.path.dirname(name) == str(tmp_path)


class Slow(LoneChannel):
    """A channel from which what was sent never leaves; counts the threads that are in it."""

    rank, size = 1, 2

    def __init__(self):
        super().__init__()
        self._own = [Message(0, ("quit", RunFailed("the run has failed")))]
        self._inside, self.most = 0, 0

    def _stay(self):
        self._inside += 1
        self.most = max(self.most, self._inside)
        time.sleep(0.001)
        self._inside -= 1

    def send(self, *_):
        return 0

    def poll(self):
        self._stay()
        return super().poll()

    def drain(self):
        self._stay()
        return False


def test_one_thread_at_a_time_uses_mpi_also_at_the_end(monkeypatch):
    monkeypatch.setattr(engine_rank, "GRACE", 0.3)
    channel = Slow()
    failed = engine_rank.EngineRank(Job(task=abs, merge=PAIR), channel, ValueStore(None, None))
    failed.loop.turn_meanwhile()
    with pytest.raises(RunFailed, match="the run has failed"):
        failed.run()
    failed.loop.end_thread()
    assert channel.most == 1


def test_steps_are_done_in_their_order_though_a_short_message_overtakes_a_long_one():
    class Two(LoneChannel):
        size = 2

    channel, own, other = Two(), Node(0, 0, 1), Node(0, 0, 0)
    merged = Node(0, 1, 1)
    channel._own = [
        Message(0, ("combine", merged, (Input(own, 0, 0, 1), Input(other, 0, 1, 2)))),
        Message(0, ("value", other, 0.0, 1, 2), 5),
        Message(0, ("work", TaskBlock(own, 0, 1), (0,)), [-4]),
    ]
    job = Job(task=abs, merge=Merge(lambda a, b: a + b), schedule="source")
    rank = engine_rank.EngineRank(job, channel, ValueStore(None, None))
    rank.loop.turn()
    while rank._step():
        pass
    assert rank._store.take(merged) == 9


@pytest.mark.parametrize(
    ("items", "fetched", "says"), [(4, 9, "are 4"), (6, 9, "are 6"), (9, 6, "are at least 6")]
)
def test_another_number_of_items_than_an_interrupted_run_had_is_refused(
    tmp_path, items, fetched, says
):
    before = checkpoint_of(tmp_path)
    assert list(before.due([])) == []
    before.write(0, 5, [], end=5)
    source = Items(iter(range(items)))
    checkpoint = checkpoint_of(tmp_path)
    job = Job(task=abs, merge=PAIR, resumes=True)
    root = Root(job, source, 1, checkpoint)
    root.resume(checkpoint.read())
    source.fetch(fetched, patience=1.0)
    with pytest.raises(RunFailed, match=f"There {says} items, and the interrupted run had 5"):
        list(root.orders())
