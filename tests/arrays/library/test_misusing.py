"""What is wrong on all ranks, or on one of them, is told to all, with what to do; nobody hangs."""

import json
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest

from parcast.arrays.calibration.dry_run import Stage
from parcast.arrays.geometry.boxes import Box
from parcast.arrays.library.client import DescribedRequest, Own
from parcast.arrays.library.distribution import Block
from parcast.arrays.library.master import Master
from parcast.arrays.library.session import connect
from parcast.arrays.library.storing import catalogue
from parcast.arrays.store.chunk_file import ChunkWriter
from parcast.arrays.trials.request import ArrayRequest
from parcast.errors import RunFailed
from parcast.mpi.loop import EventLoop
from parcast.mpi.messages import Message, as_received
from tests.arrays.store.test_verify import killed
from tests.conftest import LIMIT

MISUSING = Path(__file__).parent / "misusing.py"
RANKS = 3
SERVERS = "servers must name 1 to 3 of the 3 ranks as servers, got"
HOLD = 'Example: {"u": parcast.arrays.Block('
SAME = "Call it with the same arguments on every client."
TYPES = (
    "dtype of array u must be bool, an integer, float16 to float64, complex64 or complex128, got"
)
NAME = 'name of an array must be text without "/", and without "." or "__" in front, got'
CONNECT = {
    "no servers": f"{SERVERS} 0.",
    "too many servers": f"{SERVERS} 4.",
    "too many dedicated servers": "1 to 2 of the 3 ranks as dedicated servers, and leave a client",
    "servers twice": f"{SERVERS} [0, 0].",
    "no such server": f"{SERVERS} [3].",
    "servers as text": "servers must be a number, got '2'.",
    "servers as a fraction": "servers must be a whole number of at least 0, got 1.5.",
    "no servers on one rank": f"Rank 2: {SERVERS} 0.",
    "other servers on one rank": "to the same servers: rank 2 gives ranks 0, 2, rank 0 ranks 2.",
    "dedicated on one rank": "rank 2 gives ranks 2, dedicated, rank 0 ranks 2.",
}
CLIENT = {
    "mesh on one rank": f"the same mesh of u: client 2 gives 1, 3, client 0 3, 1. {SAME}",
    "mesh that does not fit": "as many positions as there are clients, 3, got 7x11 = 77.",
    "values on one rank": "Client 2: values must have the shape 4x3, that of block 2 of the mesh,",
    "dtype on one rank": f"the same dtypes: client 2 gives <f4, client 0 <f8. {SAME}",
    "array on one rank": "the same names of arrays: client 2 gives v, client 0 u.",
    "path on one rank": "the same path: client 2 gives",
    "option of another name": "got an option of another name. Did you mean attributes?",
    "boxes that overlap": "boxes must not overlap, got [1:2, 0:3] in both client 0 and client 1.",
    "mesh of one number": "mesh must have one number for each of the 2 dimensions, got 3.",
    "mesh as a number": "Client 0: mesh must be a sequence, got 3.",
    "shape of three numbers": "mesh must have one number for each of the 3 dimensions, got 3x1.",
    "halo on one rank": "Client 2: values must have the shape 6x5, that of block 2 of the mesh",
    "boxes of one number": "boxes must lie inside the array of shape 12x3, got start 0, 2x2",
    "boxes of another rank": "boxes must lie inside the array of shape 12x3, got start 0x0, 2 ",
    "boxes outside": "boxes must lie inside the array of shape 12x3, got start 0x1, 4x3",
    "boxes on one rank": "boxes must cover the array, got a gap at [8:12, 0:3] beside client 1.",
    "boxes that are none": "boxes must be pairs of a start and values, got 5.",
    "dtypes of boxes": "boxes must have one dtype, got float32, float64.",
    "subchunk of zero": "subchunk must be a whole number of at least 1, got 0.",
    "subchunk as text": "subchunk must be a number, got '1 MiB'.",
    "subchunk of half an element": "subchunk must hold one element: at least 8 bytes, got 7.",
    "records": f"{TYPES} records",
    "dates": f"{TYPES} datetime64",
    "durations": f"{TYPES} timedelta64",
    "text": f"{TYPES} strings",
    "objects": f"{TYPES} Python objects",
    "long doubles": f"{TYPES} long",
    "records on one rank": f"Client 2: {TYPES} records",
    "name with a slash": f"{NAME} 'a/b'.",
    "name of the metadata": f"{NAME} 'zarr.json'.",
    "name that is no text": f"{NAME} 5.",
    "no name among two": "arrays must be arrays with names, or one without, got one without",
    "name of a stack": f"{NAME} 'a/b'.",
    "no arrays": f"arrays must be a dict with at least one array, got an empty one. {HOLD}",
    "a list of arrays": f"arrays must be a dict with at least one array, got list. {HOLD}",
    "None for arrays": "arrays must be a dict with at least one array, got NoneType.",
    "an ndarray": f"array u must be a Block or Boxes, got ndarray. {HOLD}",
    "an ndarray on one rank": "Client 2: array u must be a Block or Boxes, got ndarray.",
    "empty path": "path must be a path, got ''. Example: out.zarr.",
    "path that is no text": "path must be a path, got 5.",
    "path of a file": "got FOLDER/notes.txt, which is something else. Choose another name",
    "path of a folder": "got FOLDER, which is something else.",
    "path in a store": "path must not lie inside a store, got FOLDER/there.zarr/u/x, which is in",
    "path in no folder": "path must be in a folder that exists, got FOLDER/none.",
    "path that exists": "got FOLDER/there.zarr, which exists. Choose another name, or pass",
    "several arrays in .npy": "path must be that of a Zarr store, to write several arrays",
    "compression of .npy": "zstd must be one of overwrite",
    "fill of another type": "fill of array u must be a value of int32, got nan.",
    "dimensions of one name": "dimensions of array u must be 2 different names, got ('t',).",
    "coordinates of another length": "dimension t must have one length, got 12 of array u and 1",
    "coordinates of objects": "coordinates t must be bool, an integer",
    "attributes that are no JSON": "attributes must",
    "dimensions as a list": "dimensions must be a dict, got list. Example:",
    "writer of another name": "writer must be one of sync, write-behind, double-buffer, got",
    "append to nothing": "FOLDER/x: 1 problem\n  file  must exist. Check the path.",
    "append to .npy": "path must be that of a Zarr store, to append rows",
    "append nothing": "arrays must be a dict with at least one array, got an empty one.",
    "append another type": "rows of shape (3,) and type <f4 cannot be appended to u",
    "append another name": "name must be an array of FOLDER/there.zarr, got 'w'. It has u, v.",
    "append no rows": "rows must be a whole number of at least 1, got 0.",
    "call on one rank": "the same call: client 2 gives read, client 0 write.",
    "names as text": "names must be a list, got 'u'. Example:",
    "names that are numbers": "names must be text, got 5.",
    "names that are not there": "name must be an array of FOLDER/there.zarr, got 'w'.",
    "names on one rank": "the same names of arrays: client 2 gives ('v',), client 0 ('u',).",
    "mesh to read on one rank": f"the same mesh: client 2 gives [1, 3], client 0 None. {SAME}",
    "mesh to read that does not fit": "as many positions as there are clients, 3, got 7x11 = 77.",
    "box outside": "boxes of array u must lie inside the array of shape 12x3, got start 0x0, 999",
    "box of one number": "boxes of array u must lie inside the array of shape 12x3, got start 0, ",
    "box as a number": "box must be a start and a count, each with a whole number",
    "box of two ranks": "box must be a start and a count, each with a whole number",
    "box on one rank": "the same box: client 2 gives [[0, 0], [3, 2]], client 0 [[0, 0], [3, 1]].",
    "halo to read on one rank": "the same halo: client 2 gives 1, client 0 0.",
    "lost as text": "lost must be a value of float64, got 'nothing'.",
    "path to read of a file": "must be a folder with a Zarr 3 store, got a file.",
    "path to read of a folder": "must be a Zarr 3 store, got a folder without zarr.json.",
    "empty path to read": "path must be a path, got ''.",
    "path to read that is not there": "FOLDER/x: 1 problem\n  file  must exist. Check the path.",
}


def test_what_is_wrong_on_one_rank_or_all_is_told_to_all_of_them(ran, tmp_path):
    (tmp_path / "notes.txt").write_text("kept")
    status, out, err = ran(MISUSING, tmp_path, ranks=RANKS)
    assert (status, err, out) == (0, "", "ended\n" * RANKS)
    for kind, expected in (("connect", CONNECT), ("client", CLIENT)):
        files = [(tmp_path / f"{kind}-{i}.json").read_text() for i in range(RANKS)]
        said, *others = (json.loads(x.replace(str(tmp_path), "FOLDER")) for x in files)
        assert [*others] == [said] * (RANKS - 1)
        assert said.keys() == expected.keys()
        wrong = {name: said[name] for name, words in expected.items() if words not in said[name]}
        assert wrong == {}
        assert not [text for text in said.values() if "Error:" in text]  # in words of our own
    names = {x.name for x in tmp_path.iterdir() if x.suffix != ".json"}
    assert names == {"notes.txt", "there.zarr", "case.zarr", "alone.zarr"}
    assert (tmp_path / "notes.txt").read_text() == "kept"


OF_ONE = """
import sys
import numpy as np
from parcast.arrays import Block, connect
from parcast.arrays.library import session
session.PATIENCE = 30.0  # however busy this machine is
kind = sys.argv[1]
with connect(servers=[2], dedicated=True) as io:
    if kind == "write on a server" and io.is_server:
        io.write("x", {"u": Block(np.ones(1), (2,), (2,))})
    if io.is_client:
        u = Block(np.ones(4), (8,), (2,))
        later = io.write("first.zarr", {"u": u}, wait=False)
        if io.client == 1:
            if kind == "raise":
                raise ValueError("of client 1")
        io.write("second.zarr", {"u": u})
"""


@pytest.mark.parametrize(
    ("kind", "ends"),
    [
        ("raise", ("Client 1 has ended with ValueError: of client 1.", 1)),
        ("write on a server", ("Server 0 has ended with RunFailed: This rank is a dedicated", 1)),
    ],
)
def test_a_rank_that_fails_between_requests_ends_all_with_its_reason(
    started, gone, tmp_path, kind, ends
):
    said, status = ends
    process = started(OF_ONE, kind, ranks=3)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode in (1, status)  # Open MPI gives that of one of the ranks
    assert err.count(said) == 2  # of the others; its own rank shows its own traceback
    assert gone(process)
    left = {x.name for x in tmp_path.iterdir()} - {"program.py", "first.zarr"}
    assert left == set()  # no second store, no draft and no lock of either


def test_servers_begin_nothing_after_all_were_let_go():
    asked, sent = ArrayRequest(shape=[8, 4], client_mesh=[2, 1], servers=1), Stage(perf_counter)
    master = Master(EventLoop(sent), [0, 1], [2])
    assert master.hear(Message(0, ("describe", 0, 0, asked.described(0))))
    assert master.hear(Message(2, ("close", "Server 0", RunFailed("It failed."))))
    assert master.hear(Message(1, ("describe", 0, 1, asked.described(1))))  # on its way meanwhile
    assert {(each.kind, each.target) for each in sent.taken()} == {("quit", i) for i in range(3)}


LOST = """
import sys
import numpy as np
from mpi4py import MPI
from parcast.arrays import Block, connect
from parcast.errors import ParcastError
try:
    with connect(servers=[2], dedicated=True) as io:
        if io.is_client:
            held = {"u": Block(np.ones(2), (4,), (2,))}
            handle = io.write("there", held, wait=False)
            if io.client == 1 and sys.argv[1] == "one waits":
                try:
                    handle.wait()
                except ParcastError:
                    pass
except ParcastError as failure:
    sys.stdout.write(f"{failure}\\n")
MPI.COMM_WORLD.Barrier()
"""


@pytest.mark.parametrize("who", ["one waits", "nobody waits"])
def test_a_failed_write_that_is_not_waited_for_is_raised_on_all_ranks(ran, tmp_path, who):
    (tmp_path / "there").mkdir()
    status, out, err = ran(LOST, who, ranks=3)
    assert (status, err) == (0, "")
    assert out.count("there, which is something else") == 3


def test_servers_are_sent_the_stamp_of_the_store_that_clients_lay_out(tmp_path):
    path = str(tmp_path / "u.npy")
    np.save(path, np.zeros((8, 4)))
    sent = Stage(perf_counter)
    master = Master(EventLoop(sent), [0], [1])
    options = {"names": None, "limit": 1 << 20}
    for own in ((), (("array", Own((8, 4), "<f8", (Box((0, 0), (8, 4)),), (1, 1))),)):
        assert master.hear(
            Message(0, ("describe", 0, 0, DescribedRequest("read", path, options, own)))
        )
    (schema,) = (as_received(x.head)[0][2] for x in sent.taken() if x.kind == "schema")
    assert schema.stamp == catalogue(path, None).stamp


FEWER = """
import sys
import numpy as np
from parcast.arrays import Block, connect
with connect() as io:
    for number in range(3 if io.client != int(sys.argv[1]) else 2):
        io.write(f"{number}.zarr", {"u": Block(np.ones(2), (6,), (3,))})
"""


def test_a_client_that_takes_no_part_in_a_request_is_named(started, gone, tmp_path):
    fewer = 2
    process = started(FEWER, fewer, ranks=3)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode != 0
    said = f"Client {fewer} has left without taking part in this write. Call write() on every"
    assert f"parcast.errors.RunFailed: {said}" in err
    assert err.count(said) == 3
    assert gone(process)
    assert {x.name for x in tmp_path.iterdir()} == {"program.py", "0.zarr", "1.zarr"}


BUSY = """
import time
import numpy as np
from parcast.arrays import Block, connect
from parcast.arrays.library import session
session.PATIENCE = 0.3
with connect() as io:
    held = {"u": Block(np.ones(2), (6,), (3,))}
    io.write("first.zarr", held)
    if io.client == 1:
        raise ValueError("of client 1")
    if io.client == 0:
        time.sleep(600)
    io.write("second.zarr", held)
"""


def test_ranks_that_do_not_come_are_ended_with_the_one_that_has_failed(started, gone, tmp_path):
    process = started(BUSY, ranks=3)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode != 0
    assert "ValueError: of client 1" in err
    assert gone(process)
    assert {x.name for x in tmp_path.iterdir()} == {"program.py", "first.zarr"}


HELD = """
import threading
import numpy as np
from parcast.arrays import Block, connect
from parcast.arrays.store.writing import Writer
from parcast.errors import ParcastError
plain, values, told = Writer.flush, np.ones(1 << 16), threading.Event()
def flush(self):
    told.wait(20)
    plain(self)
Writer.flush = flush
with connect() as io:
    held = {"u": Block(values, (len(io.clients) << 16,), (len(io.clients),))}
    later = io.write("u.zarr", held, wait=False)
    try:
        io.write("u.zarr", held, overwrite=True)
    except ParcastError as refusal:
        print(str(refusal) + "\\n", end="", flush=True)
    told.set()
    later.wait()
    io.write("u.zarr", held, overwrite=True)
"""


def test_two_requests_of_a_program_to_one_place_are_told(ran, tmp_path):
    status, out, err = ran(HELD, ranks=2)
    assert (status, err) == (0, "")
    assert out.splitlines() == 2 * [
        f"{tmp_path}/u.zarr cannot be written now: a request of this program is writing it. "
        "Call wait() on its handle first."
    ]


def test_two_programs_that_write_one_place_are_told_of_each_other(started, ran, file):
    holding = (
        "import sys\n"
        "from parcast.arrays.store.place import Lock, StorePlace\n"
        "lock = Lock.take(StorePlace.of('u.zarr'))\n"
        "print('held', flush=True)\n"
        "import time\n"
        "time.sleep(600)\n"
    )
    other = file(holding, "other.py")
    process = started(other)
    assert process.stdout.readline() == "held\n"
    status, _, err = ran(HELD, ranks=2)
    assert status == 1
    said = f"u.zarr cannot be written now: process {process.pid} (other.py) on "
    assert err.count(said) >= 2
    assert "Wait for it to end, or choose another place." in err


AGAIN = """
import numpy as np
from parcast.arrays import Block, connect
with connect(servers=[1]) as io:
    written = io.write("u.zarr", {"u": Block(np.ones(2), (4,), (2,))})
    assert "2 of 4 chunks complete" in written.cleared[0]
"""


def test_the_next_write_on_ranks_warns_once_of_an_interrupted_one(ran, tmp_path):
    pid = killed(tmp_path, "write", tmp_path / "u.zarr")
    status, _, err = ran(AGAIN, ranks=2)
    assert status == 0, err
    assert err.count("InterruptedWriteWarning: u.zarr: a write was interrupted (begun 20") == 1
    assert f"by process {pid} (simulate.py) on " in err
    assert {x.name for x in tmp_path.iterdir()} == {"program.py", "simulate.py", "u.zarr"}


@pytest.mark.parametrize("writer", ["sync", "write-behind", "double-buffer"])
def test_ctrl_c_in_a_process_alone_leaves_no_lock(tmp_path, monkeypatch, writer):
    held = {"u": Block(np.arange(64.0), (64,), (1,))}
    with monkeypatch.context() as patch:
        patch.setattr(ChunkWriter, "write", interrupted)
        with pytest.raises(KeyboardInterrupt), connect() as io:
            io.write(tmp_path / "u.zarr", held, writer=writer)
    assert list(tmp_path.iterdir()) == []
    with connect() as io:
        io.write(tmp_path / "u.zarr", held, writer=writer)


def interrupted(*_, **__):
    raise KeyboardInterrupt


AT_THE_END = """
from parcast.arrays import connect
from parcast.mpi.loop import EventLoop
from parcast.mpi.launched import world
turn_until = EventLoop.turn_until

def interrupted(self, is_done, *limit):
    if getattr(is_done, "__name__", "") == "Test":
        EventLoop.turn_until = turn_until
        raise KeyboardInterrupt
    return turn_until(self, is_done, *limit)

if world().Get_rank() == 1:
    EventLoop.turn_until = interrupted
try:
    with connect():
        pass
except KeyboardInterrupt:
    print("interrupted\\n", end="", flush=True)
"""


def test_ctrl_c_at_the_very_end_lets_all_ranks_leave(ran):
    status, out, err = ran(AT_THE_END, ranks=2)
    assert (status, out, err) == (0, "interrupted\n", "")
