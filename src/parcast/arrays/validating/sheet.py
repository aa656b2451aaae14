"""The answer to `validate array-io` for a person: errors by kind, and every request with -v."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from parcast.arrays.trials.observation import COMPONENTS, observed_counts
from parcast.arrays.validating.result import (
    LEAST_MEASURED,
    SHARE,
    TOLERANCE,
    ArrayIoValidation,
    Compared,
)
from parcast.errors import Argument
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table
from parcast.show.warning import Rank, RankedWarning
from parcast.units import TIME_UNITS, format_quantity, percent
from parcast.words import MARK, common_unit, counted, rounded, signed_percent

TITLES: Final = {  # of the parts of a time
    "startup": "start",
    "assembly": "assembly",
    "file_system": "files",
    "closing": "close",
}
WORDS: Final[dict[bool | None, str]] = {
    True: "agrees",
    False: "disagrees",
    None: "inconclusive",
}
MOST_NAMED: Final = 3  # requests that are named one by one


def sheet_of(result: ArrayIoValidation, *, show_all: bool = False) -> Sheet:
    """Everything that is said; with `show_all` every request."""
    tables = [_summary(result)]
    left_out = ""
    if show_all:
        tables += [_requests(result.compared), _parts(result.compared)]
    elif result.compared:
        left_out = (
            f"Errors of {counted(len(result.compared), 'request')} are summed up. Each of them"
        )
    return Sheet(
        title=f"Array I/O: {counted(len(result.compared), 'request')} predicted, then run",
        tables=tuple(tables),
        facts=tuple(_facts(result)),
        warnings=tuple(_warnings(result)),
        left_out=left_out,
    )


def _summary(result: ArrayIoValidation) -> Table:
    """Give the errors of each kind of request, and of all."""
    kinds = [*dict.fromkeys(row.kind for row in result.compared), ""]
    found = [(kind, result.accuracy(kind)) for kind in kinds]
    rows = [(kind or "all", accuracy) for kind, accuracy in found if accuracy is not None]
    if not rows:
        return Table()
    columns = [
        Column(title="requests", cells=[_kind_text(kind) for kind, _ in rows], align="left"),
        Column(title="measured", cells=[str(x.requests) for _, x in rows]),
        Column(title="within", unit=percent(TOLERANCE), cells=[str(x.within) for _, x in rows]),
        Column(title="median", unit="[%]", cells=[f"{100 * x.median:.1f}" for _, x in rows]),
        Column(title="worst", unit="[%]", cells=[f"{100 * x.worst:.1f}" for _, x in rows]),
        Column(title="mean", unit="[%]", cells=[signed_percent(x.mean) for _, x in rows]),
    ]
    parts = [
        Column(
            title=TITLES[name],
            unit="[%]",
            cells=[_mean_part(result, kind, name) for kind, _ in rows],
        )
        for name in COMPONENTS
    ]
    legend = (
        "median, worst: of the absolute errors, predicted / measured - 1; mean: with their sign"
    )
    parts_legend = (
        "; start, assembly, files, close: mean error of each part of the time, of the whole time"
    )
    return Table(
        forms=(
            Form(columns=[*columns, *parts], legend=legend + parts_legend),
            Form(columns=columns),
        ),
        legend=legend,
    )


def _kind_text(kind: str) -> str:
    """Name requests of a kind."""
    return {"all": "all", "read": "read"}.get(kind, f"write, {kind}")


def _mean_part(result: ArrayIoValidation, kind: str, name: str) -> str:
    """Mean error of a part of the time."""
    own = [row for row in result.measured if kind in ("all", row.kind)]
    errors = [x for row in own if (x := row.component_error(name)) is not None]
    return signed_percent(sum(errors) / len(errors)) if errors else "-"


def _requests(rows: Sequence[Compared]) -> Table:
    """Give every request with its times and errors."""
    unit = common_unit([row.measured or row.predicted for row in rows])
    second = TIME_UNITS[unit]
    columns = [
        Column(title="", cells=[str(row.number) for row in rows]),
        Column(title="kind", cells=[row.kind for row in rows], align="left"),
        Column(title="size", cells=[format_quantity(row.request.size, "size") for row in rows]),
        Column(title="arrays", cells=[f"{row.request.arrays:,}" for row in rows]),
        Column(title="mesh", cells=["x".join(map(str, row.request.client_mesh)) for row in rows]),
        Column(title="servers", cells=[_servers_text(row) for row in rows]),
        Column(
            title="predicted",
            unit=f"[{unit}]",
            cells=[rounded(row.predicted / second, 3) for row in rows],
        ),
        Column(title="measured", unit=f"[{unit}]", cells=[_measured(row, second) for row in rows]),
        Column(title="interval", unit="[%]", cells=[_interval(row) for row in rows]),
        Column(title="error", unit="[%]", cells=[_error(row) for row in rows]),
    ]
    servers = "servers: +, ranks of their own, else clients too; "
    interval = (
        "interval: 90 % interval of the median that was measured, relative to it (range of fewer "
        "than 5 runs); "
    )
    far = f"*: error above {percent(TOLERANCE)}"
    disturbed = f"; {MARK}: disturbed runs"
    legend = far + (disturbed if any(row.is_disturbed for row in rows) else "")
    return Table(
        title="Requests",
        forms=(
            Form(columns=columns, legend=servers + interval + legend),
            Form(columns=[*columns[:8], columns[-1]], legend=servers + legend),
            Form(columns=[*columns[:3], *columns[6:8], columns[-1]], legend=legend),
        ),
        in_full=tuple(_entry(row, unit) for row in rows),
        is_spaced=False,
        legend=legend,
    )


def _parts(rows: Sequence[Compared]) -> Table:
    """Give the errors of the parts of the time of every request."""
    columns = [
        Column(title="", cells=[str(row.number) for row in rows]),
        Column(title="kind", cells=[row.kind for row in rows], align="left"),
        Column(title="error", unit="[%]", cells=[_error(row) for row in rows]),
    ]
    columns += [
        Column(title=title, unit="[%]", cells=[_part(row, name) for row in rows])
        for name, title in TITLES.items()
    ]
    legend = "start, assembly, files, close: error of each part of the time, of the whole time"
    entries = (
        Entry(
            lines=(f"{row.number}: {row.kind}",),
            facts=tuple(Fact(x, f"{_part(row, name)} %") for name, x in TITLES.items()),
        )
        for row in rows
    )
    return Table(
        title="Parts of the time",
        forms=(Form(columns=columns, legend=legend),),
        in_full=tuple(entries),
        is_spaced=False,
        legend=legend,
    )


def _part(row: Compared, name: str) -> str:
    """Error of a part of the time."""
    error = row.component_error(name)
    return "-" if error is None else signed_percent(error)


def _entry(row: Compared, unit: str) -> Entry:
    """Give a request where the terminal is too narrow for a table."""
    second = TIME_UNITS[unit]
    return Entry(
        lines=(f"{row.number}: {row.request}",),
        facts=(
            Fact("predicted", f"{rounded(row.predicted / second, 3)} {unit}"),
            Fact("measured", f"{_measured(row, second)} {unit}"),
            Fact("interval", f"{_interval(row)} %"),
            Fact("error", f"{_error(row)} %"),
        ),
    )


def _servers_text(row: Compared) -> str:
    """Number of servers, marked where they are ranks of their own."""
    return f"{'+' if row.request.dedicated else ''}{row.request.servers}"


def _measured(row: Compared, second: float) -> str:
    """Measured time of a row."""
    if row.measured is None:
        return "-"
    return rounded(row.measured / second, 3) + (MARK if row.is_disturbed else "")


def _interval(row: Compared) -> str:
    """Interval of the measured time, relative to it."""
    if row.measured is None or row.interval is None:
        return "-"
    return " ".join(f"{100 * (end / row.measured - 1):+.0f}" for end in row.interval)


def _error(row: Compared) -> str:
    """Error of a row, marked where it is above the tolerance."""
    if row.error is None:
        return "-"
    return signed_percent(row.error) + ("" if row.is_within else "*")


def _facts(result: ArrayIoValidation) -> Iterator[Fact]:
    """Give the verdict, and under which conditions it was measured."""
    yield Fact("law", _verdict(result))
    more = f" ({counted(result.left_out, 'other request')} left out by {Argument('quick', True)})"
    yield Fact("requests", result.source + (more if result.left_out else ""))
    file = f", in {result.saved.path}" if result.saved.path else ""
    yield Fact("predicted", f"{result.saved.at} and later, each before its runs{file}")
    place = result.place
    yield Fact("machine", place.testbed.rstrip(".") or f"this machine, {place.cores} cores")
    yield Fact(
        "files",
        f"up to {format_quantity(place.space, 'size')} in {place.folder} "
        f"({format_quantity(place.free, 'size')} free), removed",
    )
    if place.load is not None:
        yield Fact("load", f"{place.load[0]:.1f} before, {place.load[1]:.1f} after")
    yield Fact("runs", _runs_text(result))
    if result.compared:
        yield Fact("passes", _passes_text(result))
    disturbed = sum(x.disturbed for x in result.compared)
    made = sum(len(x.runs) + len(x.others) for x in result.compared)
    if disturbed:
        used = sum(x.is_disturbed for x in result.compared)
        text = f"{disturbed} of {made} runs, by other programs"
        yield Fact(
            "disturbed",
            text + (f"; {counted(used, 'request')} had too few others" if used else ""),
        )
    if result.ended_by:
        yield Fact(
            "stopped by",
            f"{result.ended_by}: {len(result.measured)} of {result.asked} requests were measured",
        )


def _runs_text(result: ArrayIoValidation) -> str:
    """Say of how many runs the medians are, and how well they are known."""
    numbers = [len(row.runs) for row in result.measured]
    if not numbers:
        return "none"
    few, many = min(numbers), max(numbers)
    text = f"median of {few if few == many else f'{few} to {many}'}, after one of each launch"
    unknown = sum(not row.is_known for row in result.measured)
    more = f"; not known to 10 % for {counted(unknown, 'request')}"
    return text + (more if unknown else "")


def _passes_text(result: ArrayIoValidation) -> str:
    """Say how often requests were predicted, and how far these predictions are apart."""
    numbers = [len(row.predictions) for row in result.compared]
    few, many = min(numbers), max(numbers)
    often = str(few) if few == many else f"{few} to {many}"
    text = f"{often} for each request"
    apart = [
        (max(times) - min(times)) / row.predicted
        for row in result.compared
        if len(times := [each.time for each in row.predictions.values()]) > 1
    ]
    if not apart:
        return text
    return (
        f"{text}; predicted times differ between passes by {percent(median(apart))} (median), "
        f"at most {percent(max(apart))}"
    )


def _verdict(result: ArrayIoValidation) -> str:
    """Say whether the law agrees with the runs, and by which rule."""
    accuracy = result.accuracy()
    if accuracy is None:
        return "inconclusive: nothing was measured"
    share = percent(accuracy.share) if accuracy.within else "0%"
    text = (
        f"{WORDS[result.holds]}: {accuracy.within} of {accuracy.requests} requests "
        f"({share}) within {percent(TOLERANCE)} (required: {percent(SHARE)}); "
        f"median error {100 * accuracy.median:.1f} %, worst {100 * accuracy.worst:.1f} %"
    )
    if result.miscounted:
        return f"{text}; its counts are not those of the library"
    if result.holds is None:
        few = accuracy.requests < LEAST_MEASURED * result.asked
        too_few = "too few were measured. Allow more time"
        why = too_few if few else "most were disturbed. Repeat on an idle machine"
        return f"{text}, but {why}"
    return text


def _warnings(result: ArrayIoValidation) -> Iterator[str]:
    """Say what a reader must know."""
    for row in result.miscounted[:MOST_NAMED]:
        by_law, made = row.first.counted, observed_counts(row.runs[0].observed).values()
        yield RankedWarning(
            f"Request {row.number} ({row.request}): the law counts {by_law['messages']} "
            f"messages, {by_law['subchunks']} subchunks and {by_law['bytes']} bytes, the servers "
            f"{', '.join(map(str, made))}. Report this.",
            kind="counts",
            rank=Rank.SERIOUS,
        )
    far = sorted(
        (row for row in result.measured if row.is_within is False),
        key=lambda row: -abs(row.error or 0.0),
    )
    if far:
        named = "; ".join(
            f"{row.number} ({row.request}) {signed_percent(row.error or 0.0)} %"
            for row in far[:MOST_NAMED]
        )
        more = f"; and {len(far) - MOST_NAMED} more" if len(far) > MOST_NAMED else ""
        yield RankedWarning(
            f"{counted(len(far), 'request')} with an error above {percent(TOLERANCE)}: "
            f"{named}{more}.",
            kind="far",
        )
