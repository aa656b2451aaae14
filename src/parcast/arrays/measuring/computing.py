"""Costs of computing for any request: from dry runs of large and of small arrays.

Of a known request the dry run of that request is the better source. With t the time of moving o
bytes in m runs, from two requests: of long runs R = o/t, of short ones t_run = (t - o/R)/m. All
are then made as slow as the reference requests were, on ranks that share cores and memory.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf, isfinite
from typing import Final

from parcast.arrays.measuring.dry_run import Clock, DryRun, dry_run
from parcast.arrays.measuring.figure import Draw, Figure, figure_of
from parcast.arrays.trials.carried import Request
from parcast.units import Dimension

TIMES: Final = 3  # that each is run
LARGE: Final = (64, 64, 512)  # of which a subchunk has whole rows
SMALL: Final = (64, 4, 32)  # 64 kB of doubles
MANY: Final = 64  # small arrays, which go in one message


def computing_figures(
    clients: int, measured: Sequence[Figure], *, clock: Clock | None = None
) -> Iterator[Figure]:
    """Costs of computing with so many clients, as slow as was measured."""
    value = {figure.key: figure.value for figure in measured}
    slower = value["computing.time"]
    for figure in _dry_figures(clients, clock):
        match figure.dimension:
            case "rate":
                yield _changed(figure, 1 / value["computing.bytes"])
            case "time" if figure.key != "servers.run":
                yield _changed(figure, slower)
            case "time":
                yield _changed(figure, value["computing.bytes"])
            case _:
                yield figure


def _changed(figure: Figure, factor: float) -> Figure:
    """Change a number and its interval."""
    ends = {name: getattr(figure, name) * factor for name in ("value", "lower", "upper")}
    return replace(figure, **ends)


def _dry_figures(clients: int, clock: Clock | None) -> Iterator[Figure]:
    """Costs of dry runs with so many clients."""
    rows, columns = (clients, 1, 1), (1, 1, clients)
    long = Request(shape=LARGE, mesh=rows)
    requests = {
        "long": long,
        "short": Request(shape=LARGE, mesh=columns),
        "arrays": Request(shape=SMALL, mesh=rows, number=MANY),
        "read": Request(shape=LARGE, mesh=columns, operation="read"),
    }
    options = {} if clock is None else {"clock": clock}
    runs = {
        name: [dry_run(request, **options) for _ in range(TIMES)]
        for name, request in requests.items()
    }

    def value(name: str, of: Callable[[DryRun], float]) -> Callable[[Draw], float]:
        return lambda draw: draw([of(each) for each in runs[name]])

    times: Sequence[tuple[str, Callable[[DryRun], float]]] = (
        ("clients.construct_schema", lambda x: x.construct_schema),
        ("clients.decode", lambda x: x.decode),
        ("servers.parse_schema", lambda x: x.parse_schema),
        ("servers.find", lambda x: x.find),
        ("servers.boundary", lambda x: x.boundary),
    )
    how = "dry run of an array of 17 MB"
    for key, of in times:
        yield figure_of(key, "time", how, value("long", of))
    rates: Sequence[tuple[str, str, Callable[[DryRun], float], str]] = (
        ("clients.copy_rate", "arrays", lambda x: x.copy_rate, "of 64 arrays of 66 kB"),
        ("clients.place_rate", "read", lambda x: x.place_rate, "of a read"),
        ("servers.place_rate", "long", lambda x: x.place_rate, "in long runs"),
        ("servers.copy_rate", "read", lambda x: x.copy_rate, "of a read"),
        ("servers.compression_rate", "long", lambda x: x.encode_rate, "of checksums"),
    )
    for key, name, of, what in rates:
        if isfinite(found := value(name, of)(_first)) and found > 0:
            yield figure_of(key, "rate", f"dry run {what}", value(name, of))
    runs_of = requests["short"].tables[0].overlaps.requests.runs_in_subchunk.sum()

    def run(draw: Draw) -> float:
        rate = value("long", lambda x: x.place_rate)(draw)
        other = value("short", lambda x: x.place_rate)(draw)
        return max(long.size * (1 / other - 1 / rate) / float(runs_of), 0.0)

    yield figure_of("servers.run", "time", "dry run in short runs", run)
    lengths: Sequence[tuple[str, Callable[[DryRun], float]]] = (
        ("messages.schema_length", lambda x: x.schema_length),
        ("messages.request_length", lambda x: x.request_length),
        ("messages.quit_length", lambda x: x.quit_length),
    )
    size: Dimension = "size"
    for key, of in lengths:
        yield figure_of(key, size, how, value("long", of))


def _first(values: Sequence[float]) -> float:
    return values[0] if values else inf
