"""A simulated request for a person: its servers, what limits it, and what is out of balance."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from parcast.arrays.bottleneck.result import LIMITS, Imbalance, RequestSimulation
from parcast.show.sheet import Column, Fact, Form, Sheet, Table
from parcast.units import TIME_UNITS, format_quantity, percent
from parcast.words import common_unit, counted, listed, rounded

DIGITS: Final = 4
MEGABYTE: Final = 1e6
MOST_NAMED: Final = 6  # servers of a row
FASTER: Final = ("infinitely fast disks", "infinitely fast network too")
WAITING: Final = "assembly: gathering or sending subchunks; files: opening and waiting for files"
USED: Final = "used: share of the rate of the file system"
LIMITED: Final = {
    "file system": "the file system",
    "communication": "communication",
    "computation": "computation (finding, requesting, packing and unpacking overlaps)",
}
EQUAL: Final = "no more to do: its costs, or the runs of its overlaps, differ"


def sheet_of(result: RequestSimulation) -> Sheet:
    """Everything that is said of a simulated request."""
    return Sheet(
        title=title_of(result),
        tables=(servers_table(result),),
        facts=tuple(_facts(result)),
        warnings=result.warnings,
    )


def title_of(result: RequestSimulation) -> str:
    """Name the request and its time."""
    normal = result.normal
    kind = "Write" if result.options.operation == "write" else "Read"
    size = format_quantity(float(normal.size.sum()), "size")
    nodes = f"{counted(normal.clients, 'client')} and {counted(len(normal.startup), 'server')}"
    return f"{kind} of {size} by {nodes}: {format_quantity(result.time, 'time', 4)}"


def servers_table(result: RequestSimulation, *, title: str = "") -> Table:
    """One row for servers that do the same."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in result.rows():
        values = [value for key, value in row.items() if key not in ("server", "startup_s")]
        groups.setdefault(tuple(f"{x:.{DIGITS}g}" for x in values), []).append(row)
    rows = [group[0] for group in groups.values()]
    names = [listed((str(x["server"]) for x in group), MOST_NAMED) for group in groups.values()]
    unit = common_unit([row["intermediate_s"] or 1.0 for row in rows])

    def times(key: str) -> list[str]:
        return [rounded(row[key] / TIME_UNITS[unit], DIGITS) for row in rows]

    def rates(mode: str) -> list[str]:
        return [rounded(row[f"throughput_{mode}_B_per_s"] / MEGABYTE, DIGITS) for row in rows]

    what = "server" if len(names) == len(list(result.rows())) else "servers"
    columns = [
        Column(title=what, cells=names, align="left"),
        Column(title="messages", cells=[f"{row['messages']}" for row in rows]),
        Column(title="subchunks", cells=[f"{row['subchunks']}" for row in rows]),
        Column(title="assembly", unit=f"[{unit}]", cells=times("assembly_s")),
        Column(title="files", unit=f"[{unit}]", cells=times("file_system_s")),
        Column(title="normal", unit="[MB/s]", cells=rates("normal")),
        Column(title="fast disks", unit="[MB/s]", cells=rates("infinite_disks")),
        Column(title="fast network", unit="[MB/s]", cells=rates("infinite_network")),
        Column(
            title="used", unit="[%]", cells=[f"{100 * row['utilisation']:.1f}" for row in rows]
        ),
    ]
    narrow = [columns[0], columns[1], *columns[3:6], columns[8]]
    return Table(
        title=title,
        forms=(Form(columns=columns), Form(columns=narrow, legend=f"{WAITING}; {USED}")),
        legend=f"{WAITING}; normal, fast disks, fast network: throughput as it is, with "
        f"infinitely fast disks, and with an infinitely fast network too; {USED}",
    )


def _facts(result: RequestSimulation) -> Iterator[Fact]:
    """What limits it, what faster parts would bring, and the balance."""
    shares = result.shares
    yield Fact("limited by", LIMITED[result.limited_by])
    times = [each.time for each in result.times.values()]
    for label, what, time, limit in zip(
        ("if faster", ""), FASTER, times[1:], LIMITS, strict=False
    ):
        less = f"{percent(shares[limit])} less" if shares[limit] > 0 else "no gain"
        yield Fact(label, f"{what}: {_time(time)} ({less})")
    if result.normal.has_contention:
        bound = result.normal.bound
        text = f"{bound.resource} is busy for {_time(bound.time)}"
        known = ", which determines the time" if result.normal.is_bound else ""
        yield Fact("contention", text + known, is_marked=result.normal.is_bound)
    yield from balance_facts(result.imbalances)


def balance_facts(imbalances: Sequence[Imbalance]) -> Iterator[Fact]:
    """Servers out of balance, those with the same reasons together."""
    groups: dict[tuple[tuple[str, ...], str], list[Imbalance]] = {}
    for each in imbalances:
        key = (each.reasons, f"{each.ratios['time']:.2f}")
        groups.setdefault(key, []).append(each)
    if not groups:
        yield Fact("balance", "all servers within 25% of the least")
    for number, ((reasons, _), group) in enumerate(groups.items()):
        first = group[0]
        servers = listed((str(each.server) for each in group), MOST_NAMED)
        word = "server" if len(group) == 1 else "servers"
        why = ", ".join(f"{first.ratios[name]:.2f} times the {name}" for name in reasons)
        time = f"{first.ratios['time']:.2f} times the time of the fastest"
        text = f"{word} {servers}: {time}, with {why or EQUAL}"
        yield Fact("imbalance" if not number else "", text, is_marked=True)


def _time(time: float) -> str:
    return format_quantity(time, "time", DIGITS)
