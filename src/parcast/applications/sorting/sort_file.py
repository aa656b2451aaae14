"""`sort_file`: an array in a .npy file, larger than memory, sorted into another.

It is a sample sort with external merging. Quantiles of a sample cut the array into shards. The
task of a chunk of the input reads, sorts and cuts it; the engine merges the parts of each shard,
and writes to disk what does not fit into memory. A shard that is complete is written to a file of
its own, and these are joined in the end. Every element is written three times and read three
times.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from parcast.applications.sorting.result import SortedFile
from parcast.errors import ParameterError, ParcastError, RunFailed
from parcast.files.document import check_place, replacing
from parcast.mpi.folders import folder_for
from parcast.mpi.launched import ranks_for
from parcast.pipeline.arguments import amount
from parcast.pipeline.engine.tree import Merge
from parcast.pipeline.run import run_pipeline
from parcast.units import format_quantity, quantity

if TYPE_CHECKING:
    import numpy as np
    from mpi4py import MPI

    from parcast.applications.sorting.npy_files import ArrayFile
    from parcast.applications.sorting.order import Order
    from parcast.applications.sorting.plan import SortPlan
    from parcast.pipeline.result import PipelineResult

MEMORY: Final = 300e6  # [B]
PREFIX: Final = ".parcast-sort-"


class WrittenShard(NamedTuple):
    """What a rank says of a shard it has written."""

    elements: int
    rank: int
    peak: float | None  # resident memory of the rank until now [B]


@dataclass(frozen=True, slots=True)
class WritePart:
    """The end of a shard: it is written to a file of its own."""

    folder: Path
    dtype: np.dtype[Any]

    def __call__(self, rows: np.ndarray[Any, Any], shard: int = 0) -> WrittenShard:
        """Write a shard, in the byte order of the file."""
        from parcast.applications.sorting.npy_files import write_part
        from parcast.trials.process_memory import peak_memory

        if rows.dtype.isnative != self.dtype.isnative:
            rows = rows.byteswap(inplace=rows.flags.writeable)
        write_part(part_of(self.folder, shard), rows)
        return WrittenShard(len(rows), _rank(), peak_memory())


def sort_file(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    by: str | Sequence[str] | None = None,
    memory: float | str = MEMORY,
    ranks: int | None = None,
    comm: MPI.Intracomm | None = None,
    directory: str | os.PathLike[str] | None = None,
    trace: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int | None, float | None], object] | None = None,
    time_limit: float | None = None,
) -> SortedFile:
    """Sort the array of a .npy file into a .npy file, within a limit of memory for each rank.

    The result has the bytes of ``numpy.sort(array, kind="stable")`` for every number of ranks, and
    with `by` those of ``array[numpy.argsort(array[by], kind="stable")]``: the sort is stable, and
    NaN comes last.

    Parameters
    ----------
    source : path
        Array of one dimension: numbers of any kind and byte order, strings of fixed width, dates,
        or records. All ranks must see it.
    output : path
        Sorted array, ``.npy``, in a folder that all ranks see; not `source` itself. It is replaced
        when all of it has been written.
    by : str or sequence of str, optional
        Fields of records to compare, the first one first; by default all, in their order.
    memory : float or str, default 300e6
        Limit of the resident memory of a rank, Python and MPI included: 3e8 or "300 MB". [B]
    ranks : int, optional
        MPI ranks to start; by default this process sorts, and what it holds already is not
        counted. Under ``mpiexec`` and ``srun`` the ranks that call this are used. [1]
    comm : mpi4py communicator, optional
        Ranks that all call this; by default those of ``MPI.COMM_WORLD`` under ``mpiexec``.
    directory : path, optional
        Folder for what does not fit into memory, local to a host if possible; by default that of
        `output`. Together its users need as much as the array.
    trace : path, optional
        File for the events of the run, ``.jsonl`` or ``.jsonl.gz``.
    progress : callable, optional
        Called now and then with the numbers of chunks that are sorted and of all, and the
        predicted remaining time [s].
    time_limit : float, optional
        Limit for the run, by default none. [s]

    Returns
    -------
    SortedFile
        Its `peaks` are the largest resident memory of each rank.

    Raises
    ------
    FileProblems
        If `source` is not a .npy file of one dimension without Python objects.
    ParameterError
        If an argument lies outside its domain, or `memory` is too small for the array.
    RunFailed
        If a disk is full or a rank ends early; `output` is then as it was before.

    Examples
    --------
    >>> import numpy as np, parcast, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/a.npy", [3.0, 1.0, np.nan, 2.0])
    ...     result = parcast.sort_file(f"{folder}/a.npy", f"{folder}/b.npy")
    ...     print(result.elements, np.load(f"{folder}/b.npy"))
    4 [ 1.  2.  3. nan]
    """
    from parcast.applications.sorting.npy_files import array_file
    from parcast.applications.sorting.order import Order
    from parcast.applications.sorting.plan import plan_of
    from parcast.trials.process_memory import reset_peak

    begun = perf_counter()
    limit = quantity(memory, "size", name="memory") if isinstance(memory, str) else memory
    limit = amount("memory", limit, hint='Write for example "300 MB".') or 0.0
    target = _checked(output, source)
    array = array_file(source)
    order = Order(array.dtype, (by,) if isinstance(by, str) else tuple(by or ()))
    comm = ranks_for(comm)
    count = comm.Get_size() if comm is not None else ranks or 1
    plan = plan_of(array, order, memory=limit, ranks=count)
    place = target.parent if directory is None else Path(directory)
    _require_space(target.parent, place, array.size, array.size // max(plan.shards, 1))
    if count == 1:
        reset_peak()
    others = {"trace": trace, "progress": progress, "time_limit": time_limit}
    with _shared_folder(target.parent, comm) as folder:
        run = _sorted_shards(
            array, order, plan, folder, directory=place, ranks=ranks, comm=comm, **others
        )
        if not run.is_root:
            return SortedFile(run=run)
        if run.was_stopped:  # what there is now is not the array
            raise KeyboardInterrupt
        values = run.value if plan.shards > 1 else [run.value]
        written: list[WrittenShard] = [part for part in values if part is not None]
        _join(folder, target, array, len(written))
    return SortedFile(
        source=os.fspath(source),
        output=os.fspath(output),
        elements=array.length,
        size=array.size,
        dtype=str(array.dtype) if array.dtype.names is None else "records",
        by=order.by,
        chunks=plan.chunks,
        shards=plan.shards,
        longest=max((part.elements for part in written), default=0),
        seconds=perf_counter() - begun,
        memory=limit,
        peaks=_peaks(written, len(run.ranks)),
        run=run,
    )


def _sorted_shards(
    array: ArrayFile, order: Order, plan: SortPlan, folder: Path, **others: Any
) -> PipelineResult:
    """Write the shards of the sorted array to files in a folder."""
    from parcast.applications.sorting.shards import SortedShards, as_they_are, chosen_bounds

    return run_pipeline(
        plan.spans(array.length),
        SortedShards(array, order, chosen_bounds(array, order, plan.shards)),
        Merge(order.merge_two, order.merge),
        split=as_they_are,
        shards=plan.shards,
        finish=WritePart(folder, array.dtype),
        batch=1,
        fan_in=plan.fan_in,
        memory=plan.kept,
        name="sort",
        **others,
    )


def part_of(folder: Path, shard: int) -> Path:
    """File of a shard."""
    return folder / f"shard-{shard}"


def _checked(output: str | os.PathLike[str], source: str | os.PathLike[str]) -> Path:
    """Refuse a file that cannot be written, or that is read, before anything is sorted."""
    if Path(output).suffix.lower() != ".npy":
        got = f'"{os.fspath(output)!s:.60}"'
        raise ParameterError("output", must="end in .npy", got=got, hint="That is its format.")
    check_place(output, sources=[source])
    return Path(os.path.realpath(output))


def _join(folder: Path, target: Path, array: ArrayFile, shards: int) -> None:
    """Make the output of the shards, each of which is removed when it has been copied."""
    from parcast.applications.sorting.npy_files import append_part, not_written, write_header

    try:
        with replacing(target) as draft:
            write_header(draft, array)
            with draft.open("r+b") as stream:
                stream.seek(0, os.SEEK_END)
                for shard in range(shards):
                    append_part(part_of(folder, shard), stream)
    except OSError as failure:
        raise not_written(target.parent, failure) from failure


def _require_space(output: Path, spills: Path, size: int, shard: int) -> None:
    """Refuse to begin where a disk has not the space for it now."""
    needs: dict[int, tuple[Path, int]] = {}
    for place, need in ((output, size + shard), (spills, size)):
        try:
            device = place.stat().st_dev
        except OSError:  # it is said when the folder is made
            continue
        first, already = needs.get(device, (place, 0))
        needs[device] = (first, already + need)
    for place, need in needs.values():
        free = shutil.disk_usage(place).free
        if need > free:
            raise RunFailed(
                f"{place} has {format_quantity(float(free), 'size')} free, and sorting needs "
                f"{format_quantity(float(need), 'size')}. Free some space, or choose another "
                "output or directory."
            )


def _peaks(written: Sequence[WrittenShard], ranks: int) -> tuple[float | None, ...]:
    """Largest resident memory of each rank."""
    known: dict[int, float] = {}
    for part in written:
        if part.peak is not None:
            known[part.rank] = max(known.get(part.rank, 0.0), part.peak)
    return tuple(known.get(rank) for rank in range(ranks))


def _rank() -> int:
    mpi = sys.modules.get("mpi4py.MPI")
    return int(mpi.COMM_WORLD.Get_rank()) if mpi is not None else 0


@contextmanager
def _shared_folder(place: Path, comm: MPI.Intracomm | None) -> Iterator[Path]:
    """Make a folder for shards beside the output: one for all ranks, removed by rank 0."""
    if comm is not None and comm.Get_rank() != 0:
        folder = comm.bcast(None)
        if isinstance(folder, ParcastError):
            raise folder
        yield Path(folder)
        return
    try:
        made = folder_for(PREFIX, place)
        with made as folder:
            if comm is not None:
                comm.bcast(str(folder))
            yield folder
    except OSError as failure:
        raise RunFailed(str(failure)) from failure
