"""What one rank gives to a collective call: refused there in words, and then told to all ranks."""

import os
from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Final

from parcast.arrays.library.distribution import Block, Boxes, Held
from parcast.arrays.store.data_types import stored_type
from parcast.arrays.store.layout import check_name, label_of
from parcast.arrays.store.messages import no_path
from parcast.errors import ParameterError, ParcastError, RunFailed, as_whole

if TYPE_CHECKING:
    from mpi4py import MPI

HOLD: Final = 'Example: {"u": parcast.arrays.Block(values, shape=(512, 512), mesh=(4, 2))}.'
MAPPINGS: Final = {
    "array_attributes": 'Example: {"u": {"units": "K"}}.',
    "attributes": 'Example: {"title": "run 7"}.',
    "coordinates": 'Example: {"time": [0.0, 0.5]}.',
    "dimensions": 'Example: {"u": ("time", "y", "x")}.',
}
NAMES: Final = 'Example: ["u", "v"].'


def as_refusal(error: Exception, where: str = "", hint: str = "") -> ParcastError:
    """Give what has failed as an error of parcast, for the report to the other ranks."""
    if isinstance(error, ParcastError):
        return error
    what = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
    return RunFailed(f"{where}{what}.{hint}")


def refusal_of(check: Callable[[], object]) -> ParcastError | None:
    """Give what is wrong with a call, whatever it is: the other ranks need it, or they wait."""
    try:
        check()
    except Exception as error:
        return as_refusal(error)
    return None


def path_text(path: Any) -> str:
    """Give a path as text; "" where it is none, which `check_path` refuses."""
    try:
        return os.fsdecode(path)
    except TypeError:
        return ""


def check_path(path: Any) -> None:
    """Refuse what is no path."""
    if not path_text(path) or "\0" in path_text(path):
        raise no_path(path)


def held_of(arrays: Any, client: int, clients: int) -> list[Held]:
    """Give what a client holds of each array; refuse what cannot be written."""
    if not isinstance(arrays, Mapping) or not arrays:
        raise ParameterError(
            "arrays",
            must="be a dict with at least one array",
            got="an empty one" if isinstance(arrays, Mapping) else type(arrays).__name__,
            hint=HOLD,
        )
    held, types = [], set()
    for name, each in arrays.items():
        check_name(name)
        if not isinstance(each, Block | Boxes):
            raise ParameterError(
                label_of(name), must="be a Block or Boxes", got=type(each).__name__, hint=HOLD
            )
        held.append(each.held(client, clients))
        dtype = held[-1].dtype
        if dtype not in types:
            stored_type(dtype, name=f"dtype of {label_of(name)}")
            types.add(dtype)
    return held


def check_stack(name: Any, arrays: Any) -> None:
    """Refuse the name of a stack that no array may have, or that one of its arrays has."""
    check_name(name)
    if isinstance(arrays, Mapping) and name in arrays:
        raise ParameterError(
            "stack",
            must="be another name than those of the arrays in it",
            got=f"{name!r:.80}",
            hint='Example: "all".',
        )


def checked_storage(storage: Mapping[str, Any]) -> dict[str, Any]:
    """Give options of the store with plain dicts, which can be sent; refuse what is no mapping."""
    given = dict(storage)
    for name, hint in MAPPINGS.items():
        value = given.get(name)
        if value is None:
            continue
        if not isinstance(value, Mapping):
            raise ParameterError(name, must="be a dict", got=type(value).__name__, hint=hint)
        given[name] = {
            key: dict(each) if isinstance(each, Mapping) else each for key, each in value.items()
        }
    return given


def checked_subchunk(subchunk: Any) -> int | None:
    """Give the length of a subchunk, None where it is not given; refuse what is no length."""
    if subchunk is None:
        return None
    return as_whole("subchunk", subchunk, least=1, hint="Give it in bytes.")


def check_box(box: Any) -> None:
    """Refuse what is no start and count."""
    if box is None:
        return
    try:
        start, count = ([index(n) for n in numbers] for numbers in box)
    except (TypeError, ValueError):
        start, count = [], [0]
    if len(start) != len(count):
        raise ParameterError(
            "box",
            must="be a start and a count, each with a whole number for each dimension",
            got=f"{box!r:.60}",
            hint="Example: ((0, 0), (10, 20)).",
        )


def check_names(names: Any) -> None:
    """Refuse what is no list of names; a name alone would be taken for many of one letter."""
    if names is None:
        return
    if isinstance(names, str | bytes) or not isinstance(names, Sequence | set | frozenset):
        raise ParameterError("names", must="be a list", got=f"{names!r:.60}", hint=NAMES)
    for name in names:
        if not isinstance(name, str):
            raise ParameterError("names", must="be text", got=f"{name!r:.60}", hint=NAMES)


def servers_agreed(
    ranks: "MPI.Intracomm | None", servers: int | Sequence[int], *, dedicated: bool
) -> list[int]:
    """Ranks that are servers, which all ranks must give in the same way."""
    size = 1 if ranks is None else ranks.Get_size()
    chosen: list[int] = []

    def choose() -> None:
        chosen.extend(server_ranks(servers, size, dedicated))

    refusal = refusal_of(choose)
    if ranks is None or size == 1:
        if refusal is not None:
            raise refusal
        return chosen
    said = ranks.allgather((chosen, bool(dedicated), refusal))
    refusals = [str(each) for *_, each in said]
    if refusal is not None and len({*refusals}) == 1:
        raise refusal
    for rank, (*_, each) in enumerate(said):
        if each is not None:
            raise RunFailed(f"Rank {rank}: {each}")
    for rank, (theirs, theirs_dedicated, _) in enumerate(said):
        if (theirs, theirs_dedicated) != said[0][:2]:
            raise RunFailed(
                f"All ranks must connect to the same servers: rank {rank} gives "
                f"{_told(theirs, theirs_dedicated)}, rank 0 {_told(*said[0][:2])}. Call connect() "
                "with the same arguments on every rank."
            )
    return chosen


def _told(servers: Sequence[int], dedicated: bool) -> str:
    """Name some servers."""
    listed = ", ".join(map(str, servers))
    return f"ranks {listed}{', dedicated' if dedicated else ''}"


def server_ranks(servers: int | Sequence[int], size: int, dedicated: bool) -> list[int]:
    """Ranks of servers: as far apart as possible, so that nodes have them in equal numbers."""
    most = size - dedicated
    if isinstance(servers, Sequence) and not isinstance(servers, str | bytes):
        chosen = [index(rank) for rank in servers]
        fits = (
            chosen and len(set(chosen)) == len(chosen) and 0 <= min(chosen) <= max(chosen) < size
        )
        given = str(chosen)
    else:
        count = as_whole("servers", servers, least=0, hint="Give a number of ranks, or which.")
        chosen = [(i + 1) * size // count - 1 for i in range(count)] if 0 < count <= size else []
        fits, given = 1 <= count <= most, str(count)
    if not fits or (dedicated and len(chosen) >= size):
        kind = "dedicated servers, and leave a client" if dedicated else "servers"
        raise ParameterError(
            "servers",
            must=f"name 1 to {most} of the {size} ranks as {kind}",
            got=given,
            hint="Start more ranks, or ask for fewer servers.",
        )
    return chosen
