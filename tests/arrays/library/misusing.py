"""A parallel program that gives wrong arguments, on all ranks or on the last one.

Arguments: a folder. Each client writes what was said to it of each call.
"""

import json
import sys
from pathlib import Path

import numpy as np

from parcast.arrays.library.distribution import Block, Boxes
from parcast.arrays.library.session import connect
from parcast.errors import ParcastError
from parcast.mpi.launched import world

ROWS = 4  # of each client


def connections(ranks, me):
    last = me == ranks - 1
    return {
        "no servers": lambda: connect(servers=0),
        "too many servers": lambda: connect(servers=ranks + 1),
        "too many dedicated servers": lambda: connect(servers=ranks, dedicated=True),
        "servers twice": lambda: connect(servers=[0, 0]),
        "no such server": lambda: connect(servers=[ranks]),
        "servers as text": lambda: connect(servers="2"),
        "servers as a fraction": lambda: connect(servers=1.5),
        "no servers on one rank": lambda: connect(servers=0 if last else 1),
        "other servers on one rank": lambda: connect(servers=2 if last else 1),
        "dedicated on one rank": lambda: connect(servers=1, dedicated=last),
    }


def writes(io, folder):
    """Requests to write that cannot be meant."""
    clients, me = len(io.clients), io.client
    last = me == clients - 1
    whole = (ROWS * clients, clients)
    column = Block(np.zeros((ROWS * clients, 1)), whole, (1, clients))
    types = {"records": "i4,f8", "dates": "M8[s]", "durations": "m8[s]", "text": "U4"}
    types |= {"objects": object, "long doubles": np.longdouble}

    def block(dtype=float, shape=whole, mesh=(clients, 1), **keys):
        return Block(np.zeros((ROWS, clients), dtype), shape, mesh, **keys)

    def write(arrays, path="x", **keys):
        return lambda: io.write(folder / path, arrays, **keys)

    def boxes(start, shape, among=whole):
        return {"u": Boxes([(start, np.zeros(shape))], among)}

    return {
        "mesh on one rank": write({"u": column if last else block()}),
        "mesh that does not fit": write({"u": block(mesh=(7, 11))}),
        "values on one rank": write(
            {"u": Block(np.zeros((3, 3)), whole, (clients, 1)) if last else block()}
        ),
        "dtype on one rank": write({"u": block("f4" if last else "f8")}),
        "array on one rank": write({"v" if last else "u": block()}),
        "path on one rank": lambda: io.write(folder / ("y" if last else "x"), {"u": block()}),
        "option of another name": write({"u": block()}, atributes={}),
        "boxes that overlap": write(boxes((me, 0), (2, clients))),
        "mesh of one number": write({"u": block(mesh=(clients,))}),
        "mesh as a number": write({"u": block(mesh=clients)}),
        "shape of three numbers": write({"u": block(shape=(*whole, 2))}),
        "halo on one rank": write({"u": block(halo=int(last))}),
        "boxes of one number": write(boxes((0,), (2, 2))),
        "boxes of another rank": write(boxes((0, 0), (2,))),
        "boxes outside": write(boxes((ROWS * me, 1), (ROWS, clients))),
        "boxes on one rank": write(
            {
                "u": Boxes([], whole)
                if last
                else Boxes([((ROWS * me, 0), np.zeros((ROWS, clients)))], whole)
            }
        ),
        "boxes that are none": write({"u": Boxes([5], whole)}),
        "dtypes of boxes": write(
            {"u": Boxes([((0, 0), np.zeros((1, 1))), ((1, 0), np.zeros((1, 1), "f4"))], whole)}
        ),
        "subchunk of zero": write({"u": block()}, subchunk=0),
        "subchunk as text": write({"u": block()}, subchunk="1 MiB"),
        "subchunk of half an element": write({"u": block()}, subchunk=7),
        **{name: write({"u": block(dtype)}) for name, dtype in types.items()},
        "records on one rank": write({"u": block("i4,f8" if last else float)}),
        "name with a slash": write({"a/b": block()}),
        "name of the metadata": write({"zarr.json": block()}),
        "name that is no text": write({5: block()}),
        "no name among two": write({"": block(), "u": block()}),
        "name of a stack": write({"u": block()}, stack="a/b"),
        "no arrays": write({}),
        "a list of arrays": write([block()]),
        "None for arrays": write(None),
        "an ndarray": write({"u": np.zeros((ROWS, clients))}),
        "an ndarray on one rank": write({"u": np.zeros(3) if last else block()}),
        "empty path": lambda: io.write("", {"u": block()}),
        "path that is no text": lambda: io.write(5, {"u": block()}),
        "path of a file": write({"u": block()}, "notes.txt", overwrite=True),
        "path of a folder": write({"u": block()}, ".", overwrite=True),
        "path in a store": write({"u": block()}, "there.zarr/u/x"),
        "path in no folder": write({"u": block()}, "none/x"),
        "path that exists": write({"u": block()}, "there.zarr"),
        "several arrays in .npy": write({"u": block(), "v": block()}, "x.npy"),
        "compression of .npy": write({"u": block()}, "x.npy", zstd=3),
        "fill of another type": write({"u": block("i4")}, fill=np.nan),
        "dimensions of one name": write({"u": block()}, dimensions={"u": ("t",)}),
        "coordinates of another length": write(
            {"u": block()}, dimensions={"u": ("t", "x")}, coordinates={"t": [1.0]}
        ),
        "coordinates of objects": write({"u": block()}, coordinates={"t": [object()]}),
        "attributes that are no JSON": write({"u": block()}, attributes={"a": {1, 2}}),
        "dimensions as a list": write({"u": block()}, dimensions=[("t", "x")]),
        "writer of another name": write({"u": block()}, writer="async"),
        "append to nothing": lambda: io.append(folder / "x", {"u": block()}),
        "append to .npy": lambda: io.append(folder / "x.npy", {"u": block()}),
        "append nothing": lambda: io.append(folder / "there.zarr", {}),
        "append another type": lambda: io.append(folder / "there.zarr", {"u": block("f4")}),
        "append another name": lambda: io.append(folder / "there.zarr", {"w": block()}),
        "append no rows": lambda: io.append(folder / "there.zarr", {"u": Boxes([], (0, clients))}),
        "call on one rank": lambda: (
            io.read(folder / "there.zarr") if last else io.write(folder / "x", {"u": block()})
        ),
    }


def reads(io, folder):
    """Requests to read that cannot be meant."""
    clients, me = len(io.clients), io.client
    last, there = me == clients - 1, folder / "there.zarr"
    return {
        "names as text": lambda: io.read(there, "u"),
        "names that are numbers": lambda: io.read(there, [5]),
        "names that are not there": lambda: io.read(there, ["w"]),
        "names on one rank": lambda: io.read(there, ["v" if last else "u"]),
        "mesh to read on one rank": lambda: io.read(there, mesh=(1, clients) if last else None),
        "mesh to read that does not fit": lambda: io.read(there, mesh=(7, 11)),
        "box outside": lambda: io.read(there, box=((0, 0), (999, 1))),
        "box of one number": lambda: io.read(there, box=((0,), (1,))),
        "box as a number": lambda: io.read(there, box=5),
        "box of two ranks": lambda: io.read(there, box=((0, 0), (1,))),
        "box on one rank": lambda: io.read(there, box=((0, 0), (clients, 1 + last))),
        "halo to read on one rank": lambda: io.read(there, halo=int(last)),
        "lost as text": lambda: io.read(there, lost="nothing"),
        "path to read of a file": lambda: io.read(folder / "notes.txt"),
        "path to read of a folder": lambda: io.read(folder),
        "empty path to read": lambda: io.read(""),
        "path to read that is not there": lambda: io.read(folder / "x"),
    }


def told(calls):
    """What each call says."""
    said = {}
    for name, call in calls.items():
        try:
            call()
        except ParcastError as refusal:
            said[name] = str(refusal)
    return said


def main():
    folder, ranks = Path(sys.argv[1]), world()
    me = ranks.Get_rank()
    (folder / f"connect-{me}.json").write_text(json.dumps(told(connections(ranks.size, me))))
    with connect(servers=2) as io:
        clients = len(io.clients)
        names = {"u": ("t", "x"), "v": ("t", "x")}
        shape = (ROWS * clients, clients)
        held = Block(np.ones((ROWS, clients)), shape, (clients, 1))
        io.write(folder / "there.zarr", {"u": held, "v": held}, dimensions=names)
        said = told(writes(io, folder) | reads(io, folder))
        (folder / f"client-{io.client}.json").write_text(json.dumps(said))
        # Names that differ by case alone are two arrays, and one without a name is a store.
        io.write(
            folder / "case.zarr", {"u": held, "U": Block(2 * held.values, shape, (clients, 1))}
        )
        read = io.read(folder / "case.zarr", mesh=(clients, 1))
        assert ((read["u"] == 1) & (read["U"] == 2)).all()
        io.write(folder / "alone.zarr", {"": held})
        assert io.read(folder / "alone.zarr")[""].all()
        assert io.read(folder / "there.zarr", []) == {}
    sys.stdout.write("ended\n")


if __name__ == "__main__":
    main()
