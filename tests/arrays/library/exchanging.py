"""A parallel program that writes arrays and reads them back, in every way there is.

Arguments: servers, "dedicated" or "shared", a folder.
"""

import sys
from pathlib import Path

import numpy as np

from parcast.arrays.geometry.boxes import block_of
from parcast.arrays.library.distribution import Block, Boxes
from parcast.arrays.library.session import connect

SHAPE = (13, 23, 11)


def box_of(start, count):
    return tuple(slice(a, a + n) for a, n in zip(start, count, strict=True))


def whole(seed, shape=SHAPE):
    return np.random.default_rng(seed).random(shape)


def modes(io, folder):
    """Every writer, batched or not, stacked or not; read on another mesh, with halos, in a box."""
    clients, me = len(io.clients), io.client
    array = whole(1)
    mesh = (1, clients, 1)
    own = box_of(*(b := block_of(SHAPE, mesh, me)))
    padded = np.pad(array, 1)[tuple(slice(x.start, x.stop + 2) for x in own)]
    local = Block(np.asfortranarray(padded), SHAPE, mesh, halo=1)
    names = [f"u{i}" for i in range(5)]
    for writer in ("sync", "write-behind", "double-buffer"):
        ways = ((True, ""), (False, "all"))
        if writer == "write-behind":
            ways += ((False, ""), (True, "all"))
        for batch, stack in ways:
            path = folder / f"{writer}-{batch}-{stack}.zarr"
            limit = 1 << 20 if stack else 2048
            keys = {"writer": writer, "batch": batch, "stack": stack, "subchunk": limit}
            written = io.write(path, dict.fromkeys(names, local), **keys)
            assert written.size == 5 * array.nbytes
            read = io.read(path, names, mesh=(clients, 1, 1), halo=(1, 0, 2))
            start, count = block_of(SHAPE, (clients, 1, 1), me)
            wide = np.pad(array, ((1, 1), (0, 0), (2, 2)))
            for name in names:
                assert np.array_equal(read[name], wide[start[0] : start[0] + count[0] + 2])
            part = io.read(path, ["u3"], mesh=(1, 1, clients), box=((3, 3, 2), (8, 10, 7)))
            inner = box_of(*block_of((8, 10, 7), (1, 1, clients), me))
            assert np.array_equal(part["u3"], array[3:11, 3:13, 2:9][inner])
    assert b is not None


def boxes(io, folder):
    """Boxes of any sizes, none on the last of several clients, and types of all sorts."""
    array = np.arange(240).reshape(12, 20)
    cuts = [((0, 0), (5, 20)), ((5, 0), (7, 3)), ((5, 3), (7, 17))]
    own = [cut for i, cut in enumerate(cuts) if i % max(len(io.clients) - 1, 1) == io.client]
    for dtype in (bool, "i1", "u8", "f2", "f8", "c16", ">f4"):
        values = array.astype(dtype)
        held = Boxes([(a, values[box_of(a, n)]) for a, n in own], (12, 20), dtype)
        path = folder / f"{np.dtype(dtype).name}{np.dtype(dtype).byteorder == '>'}.zarr"
        io.write(path, {"u": held}, subchunk=64)
        read = io.read(path, mesh=(len(io.clients), 1))["u"]
        assert np.array_equal(
            read, values[box_of(*block_of((12, 20), (len(io.clients), 1), io.client))]
        )


def dimensions(io, folder):
    """Arrays of 1 to 6 dimensions that the mesh does not divide; by hpf a client may have none."""
    clients, me = len(io.clients), io.client
    for count in (1, 2, 4, 5, 6):
        shape = (4, 5, 1, 3, 2, 4)[:count]
        rest = (1,) * (count - 1)
        array = whole(count, shape)
        for policy in ("balanced", "hpf"):
            mesh, other = (clients, *rest), (*rest, clients)
            own = array[box_of(*block_of(shape, mesh, me, policy))]
            path = folder / f"{count}-{policy}.zarr"
            io.write(path, {"u": Block(own, shape, mesh, policy=policy)}, subchunk=64)
            read = io.read(path, mesh=other, policy=policy)["u"]
            assert np.array_equal(read, array[box_of(*block_of(shape, other, me, policy))])


def steps(io, folder):
    """Steps of time that are appended, in storage chunks of several steps."""
    clients, me = len(io.clients), io.client
    steps = whole(2, (7, 20, 30))
    path = folder / "steps.zarr"
    done = 0
    for rows in (2, 1, 4):
        shape = (rows, 20, 30)
        own = box_of(*block_of(shape, (1, clients, 1), me))
        held = {"T": Block(steps[done : done + rows][own], shape, (1, clients, 1))}
        time = {"time": np.arange(done, done + rows) * 0.5}
        if done:
            io.append(path, held, coordinates=time)
        else:
            names = {"T": ("time", "y", "x")}
            io.write(path, held, dimensions=names, coordinates=time, subchunk=9600)
        done += rows
    read = io.read(path, ["T"], mesh=(1, 1, clients))["T"]
    assert np.array_equal(read, steps[box_of(*block_of((7, 20, 30), (1, 1, clients), me))])


def rows(io, folder):
    """One array in a .npy file, which numpy.load reads."""
    clients, me = len(io.clients), io.client
    array, path = whole(3, (50, 7, 4)), folder / "rows.npy"
    own = box_of(*block_of(array.shape, (1, 1, clients), me))
    io.write(path, {"u": Block(array[own], array.shape, (1, 1, clients))}, subchunk=500)
    read = io.read(path, ["v"], mesh=(1, clients, 1), box=((3, 0, 1), (40, 7, 2)))["v"]
    own = box_of(*block_of((40, 7, 2), (1, clients, 1), me))
    assert np.array_equal(read, array[3:43, :, 1:3][own])
    assert np.array_equal(np.load(path), array)


def meanwhile(io, folder):
    """A request that nobody waits for takes what there was when it began."""
    clients, me = len(io.clients), io.client
    values = np.full((100, 1000), float(me))
    held = {"v": Block(values, (100 * clients, 1000), (clients, 1))}
    handles = [io.write(folder / f"later{i}.zarr", held, wait=False) for i in range(3)]
    values[:] = -1
    for handle in reversed(handles):
        handle.wait()
    for i in range(3):
        read = io.read(folder / f"later{i}.zarr", mesh=(1, clients))["v"]
        assert np.array_equal(np.unique(read), np.arange(clients))


def main():
    servers, kind, folder = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    with connect(servers=servers, dedicated=kind == "dedicated") as io:
        if io.is_client:
            for run in (modes, boxes, dimensions, steps, rows, meanwhile):
                (folder / run.__name__).mkdir(exist_ok=True)
                run(io, folder / run.__name__)
    sys.stdout.write(f"ended {io.is_client}\n")


if __name__ == "__main__":
    main()
