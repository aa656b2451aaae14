"""Other I/O libraries beside the best plan: the best setting of each, or one that was given.

A library may use as many disks as there are servers in the largest plan that is considered: each
of these has one [D]. All numbers of servers are tried as numbers of aggregators, with buffers of
1, 4 and 16 MiB and of the subchunks.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from parcast.arrays.geometry.chunks import Chunks
from parcast.arrays.law.costs import Costs
from parcast.arrays.law.libraries.file_per_rank import FilePerRank
from parcast.arrays.law.libraries.library import (
    Library,
    LibraryRequest,
    LibrarySetting,
    filled,
    interval,
)
from parcast.arrays.law.libraries.pio import Pio
from parcast.arrays.law.libraries.romio import Romio
from parcast.arrays.planning.given import GivenSetting
from parcast.arrays.planning.result import OWN, LibraryPlan, ServerPlan
from parcast.errors import ParameterError
from parcast.words import did_you_mean, listed

LIBRARIES: Final[dict[str, Library]] = {
    each.name: each for each in (Romio(), Pio("box"), Pio("subset"), FilePerRank())
}


BUFFERS: Final = (1 << 20, 1 << 22, 1 << 24)  # the last is the default of ROMIO [B]
QUICK: Final = 100_000  # pieces of all ranks that take less than half a second
OWN_ERROR: Final = 1.2  # the source states an error of 20% of its law [S]
EVERY: Final = "libraries"
NAMES: Final = (EVERY, OWN, *LIBRARIES)


def asked_libraries(text: str | os.PathLike[str]) -> tuple[str, ...] | None:
    """Names of libraries in a text that has nothing else; None for a setting.

    >>> asked_libraries("libraries")[:3], asked_libraries("romio"), asked_libraries("cb_nodes=4")
    (('parcast', 'romio', 'pio-box'), ('romio',), None)
    """
    words = re.split(r"[\s,;]+", os.fspath(text).strip())
    is_near = len(words) == 1 and did_you_mean(words[0], NAMES)
    if os.path.exists(text) or not (set(words) & set(NAMES) or is_near):
        return None
    for word in words:
        if word not in NAMES:
            meant = did_you_mean(word, NAMES).strip() or "Write libraries for all of them."
            must = f"name libraries: {listed(NAMES[1:], len(NAMES))}"
            raise ParameterError("compare", must=must, got=f"'{word}'", hint=meant)
    return NAMES[1:] if EVERY in words else tuple(dict.fromkeys(words))


def library_plans(
    names: Sequence[str],
    chunks: Chunks,
    costs: Costs,
    best: ServerPlan,
    *,
    counts: Sequence[int],
    hosts: int | None,
    given: GivenSetting | None = None,
) -> tuple[LibraryPlan, ...]:
    """Give the best of each library, the least time first; `given` is set in the one it is of."""
    if not names:
        return ()
    planned = best.request
    request = LibraryRequest(
        chunks=chunks,
        itemsize=planned.itemsize,
        number=planned.number,
        operation=planned.options.operation,
        writer=planned.options.writer,
        disks=max(counts),
        hosts=hosts,
    )
    found = [_own(best)] if OWN in names or given is not None else []
    buffers = _allowed(sorted({*BUFFERS, planned.buffer}), request)
    for name in names:
        if name in LIBRARIES:
            tried = [*LIBRARIES[name].settings(request, counts, buffers)]
            if given is not None:
                tried = [LibrarySetting(given.servers, given.buffer or BUFFERS[-1])]
            found += [_best(LIBRARIES[name], request, costs, tried)]
    found.sort(key=lambda plan: plan.time)
    return tuple(_marked(found))


def _own(best: ServerPlan) -> LibraryPlan:
    """Give the best plan of the library of parcast."""
    mesh = f" mesh={'x'.join(map(str, best.mesh))}" if best.mesh else ""
    return LibraryPlan(
        library=OWN,
        title="parcast.arrays",
        setting=f"servers={best.servers}{mesh}",
        time=best.time,
        lower=best.time / OWN_ERROR,
        upper=best.time * OWN_ERROR,
        limited_by=best.limited_by,
        messages=None,
    )


def _best(
    library: Library, request: LibraryRequest, costs: Costs, tried: Sequence[LibrarySetting]
) -> LibraryPlan:
    """Give the setting of a library with the least time."""
    known = filled(costs)
    timed = [(library.time(request, known, setting), setting) for setting in tried]
    time, setting = min(timed, key=lambda each: (each[0].time, each[1]))
    lower, upper = interval(library, request, costs, setting)
    return LibraryPlan(
        library=library.name,
        title=library.title,
        setting=library.ready(request, setting),
        time=time.time,
        lower=lower,
        upper=upper,
        limited_by=time.limited_by,
        messages=time.messages,
        estimated=tuple(key for key in costs.libraries.unknown if key in library.needs),
    )


def _allowed(sizes: Sequence[int], request: LibraryRequest) -> list[int]:
    """Leave out all but the largest buffer where pieces of smaller ones take long to evaluate."""
    least = int(request.size.sum()) * request.ranks / QUICK
    return [each for each in sizes if each >= least] or [sizes[-1]]


def _marked(plans: Sequence[LibraryPlan]) -> Iterator[LibraryPlan]:
    """Mark those whose interval meets that of the fastest."""
    for plan in plans:
        yield replace(plan, may_be_fastest=bool(plan.lower <= plans[0].upper))
