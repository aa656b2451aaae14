"""`plan_io`: how many I/O servers for the arrays of a program, and which schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import DTypeLike

from parcast.advice import Choice, ours
from parcast.arrays.geometry.choices import Objective, Operation, Policy, Writer
from parcast.arrays.geometry.chunks import mesh_chunks
from parcast.arrays.geometry.subchunks import MOST
from parcast.arrays.law.costs import Costs
from parcast.arrays.law.parameters import ArrayParameters, illustrative_parameters, read_parameters
from parcast.arrays.law.request import Options
from parcast.arrays.planning.given import GivenSetting, given_setting
from parcast.arrays.planning.libraries import asked_libraries, library_plans
from parcast.arrays.planning.now import accesses_of, equal_blocks, measured_rate
from parcast.arrays.planning.plan import WITHIN, StorageChunks, plan_request
from parcast.arrays.planning.result import ComparedSetting, RequestPlan
from parcast.errors import Argument, ParameterError, as_list, as_whole
from parcast.importers.darshan_io import JobIo, read_job_io
from parcast.show.warning import Rank, RankedWarning
from parcast.units import format_quantity, quantity, shown
from parcast.words import did_you_mean

TYPES: Final = (  # of elements, which arrays on disk can have
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
NEAR: Final = 0.9  # of the bytes of a log, which a plan for them has at least [1]
NO_SHAPE: Final = (
    "The log has no shapes of arrays: equal blocks of its bytes are planned. Give the shape and "
    "mesh of yours: {} {}."
)
SLOWER: Final = (
    "No plan is recommended: by these costs the best one {0}s at {1}, and the job {0}s at {2} "
    "now. The costs do not describe the machine of this log, or what its library does. Measure "
    "them there: {3}. Then give them: {4}."
)
ILLUSTRATIVE: Final = (
    "No costs of a machine were given: the times are those of an illustrative one, {}, with a "
    "file system of {} for each server. Give the costs of yours: {}."
)


def plan_io(
    shape: str | Sequence[int] | None = None,
    clients: str | Sequence[int] | None = None,
    *,
    dtype: DTypeLike = "float64",
    arrays: int = 1,
    servers: Sequence[int] = range(1, 9),
    costs: Costs | ArrayParameters | str | PathLike[str] | None = None,
    objective: Objective = "time",
    within: float | None = None,
    storage: str | Sequence[int] | None = None,
    inner: str | Sequence[int] | None = None,
    subchunk: str | int = MOST,
    policy: Policy = "balanced",
    operation: Operation = "write",
    writer: Writer = "write-behind",
    batch: Literal[True, False] | int = False,
    contention: bool = False,
    overlap_rendezvous: bool = False,
    darshan: str | PathLike[str] | None = None,
    compare: str | PathLike[str] | None = None,
    hosts: int | None = None,
) -> RequestPlan:
    r"""Choose I/O servers and how arrays that a program writes or reads are distributed over them.

    Every number of servers and every schema is evaluated by the law of collective array I/O, with
    the disks and the network as they are and infinitely fast.

    Parameters
    ----------
    shape : str or sequence of int
        Extents of an array, the slowest first: "512x512x512" or (512, 512, 512). With `darshan`
        it may be left out: arrays in equal blocks then have the bytes of the log. [1]
    clients : str or sequence of int
        Mesh over which the program distributes it, one number for each dimension: "3x4x2" is 24
        clients. With `darshan` and without `shape`, by default the ranks of the log. [1]
    dtype : dtype, default "float64"
        Type of the elements.
    arrays : int, default 1
        Arrays of this shape in the request. [1]
    servers : sequence of int, default range(1, 9)
        Numbers of servers that are considered. [1]
    costs : Costs, ArrayParameters or path, optional
        Costs of clients, servers, messages and disks, such as ``examples/arrays/sp2_like.toml``.
        By default those of that file, which are illustrative: a warning says so.
    objective : {"time", "utilisation", "fewest"}
        Rank by the least time, the highest utilisation of the file systems, or the fewest servers
        within a share of the least time.
    within : float, default 0.1
        With "fewest", that share. [1]
    storage : str or sequence of int, optional
        Extents of the storage chunks, such as the shards of a Zarr array: servers have whole ones
        instead of chunks by a schema. [1]
    inner : str or sequence of int, optional
        Extents of the inner chunks that storage chunks consist of; by default the same. [1]
    subchunk : str or int, default 1 MiB
        Largest piece that a server gathers and writes at a time, by a schema. [B]
    policy : {"balanced", "hpf"}
        How extents are divided that a mesh does not divide.
    operation : {"write", "read"}
        What the request does.
    writer : {"write-behind", "sync", "double-buffer"}
        How servers write.
    batch : bool or int, default False
        Arrays whose data share a message; True: as many as fit into `subchunk`. [1]
    contention : bool, default False
        Whether clients that serve several servers bound the time from below.
    overlap_rendezvous : bool, default False
        Whether the transfer of a message sent by rendezvous counts once, in the receive call of
        the server, instead of in the handling of the client as well.
    darshan : path, optional
        Darshan log of the job, or what darshan-parser or pydarshan's to_json wrote of one: what
        the job does now is shown beside the plan.
    compare : str or path, optional
        Setting to evaluate beside the best: a text such as "cb_nodes=4" or "num_iotasks=4", with
        names of ROMIO, PIO, ADIOS2 or UFS, or "servers=4 mesh=4x1x1"; or a file with one. Or
        libraries by name, "romio file-per-rank", of each of which the best setting is found:
        parcast, romio, pio-box, pio-subset and file-per-rank; "libraries" is all of them.
    hosts : int, optional
        Hosts that the clients are on, dealt out in turn; by default one each. [1]

    Returns
    -------
    RequestPlan
        ``best``, ``plans`` (the best first), ``reasons``, ``settings`` (for ROMIO, PIO, ADIOS2,
        PnetCDF, UFS and XIOS), ``simulation`` (of the best), ``now`` (with `darshan`) and, with
        `compare`, ``compared`` and ``libraries`` (the fastest first, each with its interval).

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, or the mesh does not fit the array.
    FileProblems
        If the file of costs or the log is wrong.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> plan = plan_io("32x16x16", "3x4x2", arrays=2048, objective="fewest", within=0.4)
    >>> plan.best.servers, plan.best.mesh, round(plan.best.time, 2)
    (6, (3, 1, 2), 10.36)
    >>> print(*plan.settings["pio"].lines[:2], sep="\n")
    # In the folder of a case of CESM or E3SM:
    ./xmlchange PIO_NUMTASKS=6,PIO_STRIDE=4
    """
    machine, known, illustrative = _costs_of(costs)
    itemsize = element_size(dtype)
    arrays = as_whole("arrays", arrays, least=1, hint="Count equal arrays from 1.")
    job = None if darshan is None else read_job_io(darshan)
    extents, mesh, per_array = _request_of(shape, clients, job, operation, itemsize * arrays)
    arrays *= per_array
    chunks = mesh_chunks(extents, mesh, policy=policy)
    if within is not None and objective != "fewest":
        raise ParameterError(
            "within",
            must=("be left out unless ", Argument("objective"), " is fewest"),
            got=f"{within:g}",
            hint="Leave one out.",
        )
    most = quantity(subchunk, "size", name="subchunk") if isinstance(subchunk, str) else subchunk
    request = partial(
        plan_request,
        chunks,
        known,
        itemsize=itemsize,
        number=arrays,
        storage=_storage_of(storage, inner),
        policy=policy,
        options=Options(
            operation=operation,
            writer=writer,
            batch=batch,
            buffer=as_whole("subchunk", most, least=1, hint="Give bytes; 1 MiB is usual."),
            contention=contention,
            overlap_rendezvous=overlap_rendezvous,
        ),
    )
    asked = _asked(compare, hosts, chunks.clients)
    within = WITHIN if within is None else within
    planned = request(servers=servers, objective=objective, within=within)
    planned = replace(planned, machine=machine, now=job)
    planned = planned if asked is None else _with_compared(planned, *asked, request, hosts)
    notes = (*illustrative, *_notes_of(job, planned, has_shape=shape is not None))
    return replace(planned, notes=notes)


def _asked(
    compare: str | PathLike[str] | None, hosts: int | None, clients: int
) -> tuple[tuple[str, ...], GivenSetting | None] | None:
    """Libraries to compare with, and the setting that was named instead of them."""
    if hosts is not None:
        as_whole("hosts", hosts, least=1, hint="Count the hosts of the clients from 1.")
    if compare is None:
        return None
    names = asked_libraries(compare)
    if names is not None:
        return names, None
    given = given_setting(compare, clients)
    return (given.library,) if given.library else (), given


def _with_compared(
    planned: RequestPlan,
    names: tuple[str, ...],
    given: GivenSetting | None,
    request: partial[RequestPlan],
    hosts: int | None,
) -> RequestPlan:
    """Add what the same request takes with a setting, or with other libraries."""
    chunks, costs = request.args
    if given is not None:
        planned = replace(planned, compared=_compared(given, request))
    counts = sorted({plan.servers for plan in planned.plans})
    own = library_plans(
        names, chunks, costs, planned.best, counts=counts, hosts=hosts, given=given
    )
    return replace(planned, libraries=own)


def _compared(given: GivenSetting, request: partial[RequestPlan]) -> ComparedSetting:
    """Evaluate the same request with a setting."""
    options: Options = request.keywords["options"]
    if given.buffer is not None:
        options = replace(options, buffer=given.buffer)
    planned = request(servers=[given.servers], options=options)
    return ComparedSetting(
        setting=given.text, plan=given.chosen(planned.plans), buffer=planned.buffer
    )


def _request_of(
    shape: Any, clients: Any, job: JobIo | None, operation: Operation, itemsize: int
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Extents, mesh of the clients, and number of arrays: as given, or of the bytes of a log.

    `itemsize` is that of one element of every array.
    """
    examples = {"shape": "512x512x512", "clients": "3x4x2"}
    for name, given in (("shape", shape), ("clients", clients)):
        if given is None and (job is None or (name == "clients" and shape is not None)):
            raise ParameterError(
                name,
                must="be given",
                hint=f"Write for example {examples[name]}.",
            )
    mesh = None if clients is None else numbers_of("clients", clients, examples["clients"])
    if job is not None:
        size = accesses_of(job, operation).size
        if shape is None:
            mesh = mesh or (job.ranks,)
            extents, number = equal_blocks(size, itemsize, mesh)
            return extents, mesh, number
    assert mesh is not None
    return numbers_of("shape", shape, examples["shape"]), mesh, 1


def _notes_of(job: JobIo | None, planned: RequestPlan, *, has_shape: bool) -> Iterator[str]:
    """Say where a log and the request that is planned differ."""
    if job is None:
        return
    if planned.is_slower_than_now:
        operation = planned.options.operation
        rates = planned.best.throughput, measured_rate(job, operation)
        measure = ours("calibrate", "array-io", Choice("FOLDER"), "-o", "costs.toml")
        yours = Argument("costs", "costs.toml")
        text = SLOWER.format(
            operation, *(format_quantity(x, "rate") for x in rates), measure, yours
        )
        yield RankedWarning(text, kind="slower than now", rank=Rank.VERDICT)
    if not has_shape:
        mesh = Argument("clients", Choice("MESH"))
        yield NO_SHAPE.format(Argument("shape", Choice("SHAPE")), mesh)
    if job.ranks != planned.clients:
        yield (
            f"The log is of {job.ranks} ranks, the plan of {planned.clients} clients. "
            "Plan for the ranks of the next run."
        )
    size = accesses_of(job, planned.options.operation).size
    if not NEAR <= size / planned.size <= 1 / NEAR:
        yield (
            f"The log has {size / planned.size:.3g} times the bytes of the planned request: "
            "compare rates, not times."
        )
    if job.partial:
        yield (
            f"Darshan ran out of memory for the records of {', '.join(job.partial)}: bytes and "
            "requests of the log are incomplete."
        )


def numbers_of(name: str, given: Any, example: str) -> tuple[int, ...]:
    """Read extents or a mesh, all at least 1: a text such as "512x512x512", or a sequence."""
    hint = f"Write for example {example}."
    if isinstance(given, str):
        if not re.fullmatch(r"\s*[0-9]{1,18}(\s*[xX]\s*[0-9]{1,18})*\s*", given):
            must = "be whole numbers with x between them"
            raise ParameterError(name, must=must, got=f"'{shown(given)}'", hint=hint)
        given = [int(number) for number in given.casefold().split("x")]
    return tuple(as_whole(name, n, least=1, hint=hint) for n in as_list(name, given, hint=hint))


def element_size(dtype: DTypeLike) -> int:
    """Bytes of an element of a type that arrays on disk can have."""
    try:
        known = np.dtype(dtype)
    except TypeError:
        known = None
    if known is None or known.name not in TYPES:
        got = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", dtype)
        meant = did_you_mean(str(got), TYPES)
        raise ParameterError(
            "dtype",
            must="be a type of fixed size: bool, int8 to int64, uint8 to uint64, float16 to "
            "float64, complex64 or complex128",
            got=f"'{shown(got)}'",
            hint=meant.strip() or "float64 is usual.",
        )
    return known.itemsize


def _storage_of(storage: Any, inner: Any) -> StorageChunks | None:
    """Storage chunks, if there are any."""
    if storage is None and inner is not None:
        raise ParameterError(
            "inner",
            must=("be left out without ", Argument("storage")),
            got=shown(inner),
            hint="Give the extents of the storage chunks.",
        )
    if storage is None:
        return None
    inside = None if inner is None else numbers_of("inner", inner, "32x64x64")
    return StorageChunks(numbers_of("storage", storage, "64x64x64"), inside)


def _costs_of(costs: Any) -> tuple[str, Costs, tuple[str, ...]]:
    """Name of the machine, its costs, and a note where they are illustrative."""
    if isinstance(costs, Costs):
        return "", costs, ()
    if costs is None:
        parameters = illustrative_parameters()
        known = parameters.costs()
        rate = format_quantity(float(known.servers.write_rate), "rate")
        yours = Argument("costs", Choice("PATH"))
        return parameters.name, known, (ILLUSTRATIVE.format(parameters.name, rate, yours),)
    given = costs if isinstance(costs, ArrayParameters) else read_parameters(costs)
    return given.name, given.costs(), ()
