"""Tables with a row for each rank of a run: the run takes as long as its slowest rank."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.files.faults import Faults


def runs_of_ranks(
    columns: dict[str, NDArray[Any]], faults: Faults
) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """Make runs of rows that each hold one rank, numbered from 0 or 1 anew in every run.

    p is the number of ranks unless it is given, time and deviation are those of the slowest; all
    else must be the same for all ranks of a run. A run of which a rank failed has failed: the
    second value names each of these.
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
    run = np.repeat(np.arange(len(start)), count)
    by_time = np.lexsort((columns["time"], run))  # NaN last
    slowest = by_time[np.cumsum(count) - 1]
    runs = {name: column[slowest] for name, column in columns.items() if name != "rank"}
    for name in runs.keys() - {"time", "deviation"}:
        if np.any(runs[name][run] != columns[name]):
            faults.refuse("must be the same for all ranks of a run, got others.", field=name)
    ran = ~np.isnan(runs["time"])
    if not ran.any():
        faults.refuse("must have a run of which no rank failed. Add the times of other runs.")
    runs = {"p": count.astype(np.float64)} | runs
    failed = [f"a rank of {n}" for n in count[~ran].tolist()]
    return {name: column[ran] for name, column in runs.items()}, failed
