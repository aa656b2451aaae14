"""Tables with a row for each rank of a run: the run takes as long as its slowest rank."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.files.faults import Faults


def runs_of_ranks(columns: dict[str, NDArray[Any]], faults: Faults) -> dict[str, NDArray[Any]]:
    """Make runs of rows that each hold one rank, numbered from 0 or 1 anew in every run.

    p is the number of ranks unless it is given, the time the largest; all else must be the same
    for all ranks of a run.
    """
    rank = columns["rank"]
    rank = rank - rank[0] if rank[0] in {0, 1} else rank
    start = np.flatnonzero(rank == 0)
    count = np.diff(np.append(start, len(rank)))
    numbered = np.arange(len(rank)) - np.repeat(start, count) if start.size else rank
    if not start.size or start[0] != 0 or not np.array_equal(rank, numbered):
        faults.refuse(
            "must number the ranks of each run 0, 1, 2, got others. Sort the rows, and number "
            "them from 0.",
            field="rank",
        )
    runs = {name: column[start] for name, column in columns.items() if name != "rank"}
    for name in runs.keys() - {"time", "deviation"}:
        if np.any(np.repeat(runs[name], count) != columns[name]):
            faults.refuse("must be the same for all ranks of a run, got others.", field=name)
    runs["time"] = np.maximum.reduceat(columns["time"], start)
    return {"p": count.astype(np.float64)} | runs
