"""Costs of computing for any request: from dry runs of large and of small arrays.

Of a known request the dry run of that request is the better source. With t the time of moving o
bytes in m runs, from two requests: of long runs R = o/t, of short ones t_run = (t - o/R)/m. All
are then made as slow as the reference requests were, on ranks that share cores and memory.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf, isfinite
from typing import Final

from parcast.arrays.calibration.dry_run import Clock, DryRun, dry_run
from parcast.arrays.calibration.figure import Draw, Figure, figure_of
from parcast.arrays.calibration.regimes import dimension_of
from parcast.arrays.trials.carried import Request

TIMES: Final = 3  # that each is run
LARGE: Final = (64, 64, 512)  # of which a subchunk has whole rows
SMALL: Final = (64, 4, 32)  # 64 kB of doubles
MANY: Final = 64  # small arrays, which go in one message
WHOLE: Final = "of an array of 17 MB"


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

    runs_of = requests["short"].tables[0].overlaps.requests.runs_in_subchunk.sum()

    def run(draw: Draw) -> float:
        rate = value("long", lambda x: x.place_rate)(draw)
        other = value("short", lambda x: x.place_rate)(draw)
        return max(long.size * (1 / other - 1 / rate) / float(runs_of), 0.0)

    numbers: Sequence[tuple[str, Callable[[Draw], float], str]] = (
        ("clients.construct_schema", value("long", lambda x: x.construct_schema), WHOLE),
        ("clients.decode", value("long", lambda x: x.decode), WHOLE),
        ("servers.parse_schema", value("long", lambda x: x.parse_schema), WHOLE),
        ("servers.find", value("long", lambda x: x.find), WHOLE),
        ("servers.boundary", value("long", lambda x: x.boundary), WHOLE),
        ("clients.copy_rate", value("arrays", lambda x: x.copy_rate), "of 64 arrays of 66 kB"),
        ("clients.place_rate", value("read", lambda x: x.place_rate), "of a read"),
        ("servers.place_rate", value("long", lambda x: x.place_rate), "in long runs"),
        ("servers.copy_rate", value("read", lambda x: x.copy_rate), "of a read"),
        ("servers.compression_rate", value("long", lambda x: x.encode_rate), "of checksums"),
        ("servers.run", run, "in short runs"),
        ("messages.schema_length", value("long", lambda x: x.schema_length), WHOLE),
        ("messages.request_length", value("long", lambda x: x.request_length), WHOLE),
        ("messages.quit_length", value("long", lambda x: x.quit_length), WHOLE),
    )
    for key, of, what in numbers:
        dimension = dimension_of(key)
        if dimension != "rate" or (isfinite(found := of(_first)) and found > 0):
            yield figure_of(key, dimension, f"dry run {what}", of)


def _first(values: Sequence[float]) -> float:
    return values[0] if values else inf
