"""The sheet of explained times: parts of the time, serial fractions, and what less would save."""

from collections.abc import Iterator, Sequence
from typing import Final

from parcast.deciding.explain.timings.result import SeriesExplained, TimingsExplained
from parcast.deciding.sheet import some_of, time_columns, time_text
from parcast.forecasting.own_runs.parts import PARTS
from parcast.show.sheet import Column, Fact, Form, Sheet, Table, interval_column
from parcast.units import in_percent
from parcast.words import listed, rounded, whole

PART_WORDS: Final = {
    "shared": "shared work (1/p)",
    "constant": "constant work",
    "growing": "growing work",
}
MOST_PARTS: Final = 4  # series that are shown


def sheet_of(result: TimingsExplained, *, show_all: bool = False) -> Sheet:
    """The largest part first; several series below each other."""
    shown = result.series if show_all else result.series[:MOST_PARTS]
    left_out = some_of(len(shown), len(result.series), "series")
    parts = [_series(x, result) for x in shown]
    left_out = f"{left_out}. All of them" if left_out else ""
    if len(result.series) == 1:
        [only] = parts
        return Sheet(
            title=only.title,
            tables=only.tables,
            facts=only.facts,
            warnings=(*only.warnings, *(f"{a}: {b}" for a, b in result.refused.items())),
        )
    return Sheet(
        title=f"Parts of the time of {len(result.series)} series, the slowest first",
        parts=tuple(parts),
        warnings=tuple(f"{a}: {b}" for a, b in result.refused.items()),
        left_out=left_out,
    )


def _series(x: SeriesExplained, result: TimingsExplained) -> Sheet:
    """Everything on one series."""
    return Sheet(
        title=title_of(x),
        name=x.label,
        tables=(_parts(x), _serial(x), *_what_if(x, result)),
        facts=tuple(_facts(x)),
        warnings=x.warnings,
    )


def title_of(x: SeriesExplained) -> str:
    """Say what most of the time is at the largest count."""
    last = len(x.p) - 1
    shares = x.shares(last)
    most = max(PARTS, key=lambda name: shares[name][0])
    value, lower, upper = (in_percent(share) for share in shares[most])
    time = time_text(*(float(y[last]) for y in (x.time, x.lower, x.upper)))
    name = f"{x.label}: " if x.label else ""
    return (
        f"{name}p = {whole(float(x.p[last]))}: {time}, of which {value}% is {PART_WORDS[most]} "
        f"({lower} to {upper}%)"
    )


def _parts(x: SeriesExplained) -> Table:
    """Table of the parts of the time at each count."""
    counts = [f"{whole(p)}" + ("" if i else " measured") for i, p in enumerate(x.p.tolist())]
    every = [x.shares(i) for i in range(len(x.p))]
    columns = [Column(title="p", cells=counts), *time_columns(x.time, x.lower, x.upper)]
    brief = [columns[0], columns[1]]
    for name in PARTS:
        values = Column(title=name, unit="[%]", cells=[in_percent(e[name][0]) for e in every])
        ends = [(in_percent(e[name][1]), in_percent(e[name][2])) for e in every]
        both = [values, interval_column("90% interval", "[%]", ends)]
        columns += both
        brief += both
    return Table(
        title="Parts of the time",
        forms=(
            Form(columns=columns),
            Form(columns=brief),
            Form(columns=[brief[0], *_with_intervals(every)]),
        ),
        legend="shared: falls as 1/p; constant: the same at each p; growing: rises with p; "
        "shares: medians over the fits, for each p separately",
    )


def _with_intervals(
    every: Sequence[dict[str, tuple[float, float, float]]],
) -> list[Column]:
    """Columns of shares that have their intervals in the same cells."""
    columns = []
    for name in PARTS:
        texts = [[in_percent(y) for y in shares[name]] for shares in every]
        cells = [f"{value} ({low} to {high})" for value, low, high in texts]
        columns.append(Column(title=name, unit="[%] (90% int.)", cells=cells))
    return columns


def _serial(x: SeriesExplained) -> Table:
    """Table of the serial fractions by count."""
    serial = x.serial
    counts = [
        f"{whole(float(p))}{' forecast' if f else ''}"
        for p, f in zip(serial.p, serial.is_forecast, strict=True)
    ]
    cells, lows, highs = (
        [rounded(float(y), 2) for y in values]
        for values in (serial.fraction, serial.lower, serial.upper)
    )
    return Table(
        title="Serial fraction (Karp-Flatt)",
        forms=(
            Form(
                columns=[
                    Column(title="p", cells=counts),
                    Column(title="serial fraction", cells=cells),
                    interval_column("90% interval", "", zip(lows, highs, strict=True)),
                ]
            ),
        ),
        legend="the same at each p: serial work; growing with p: overhead; falling: "
        "superlinear, or a slow run at the smallest p",
    )


def _what_if(x: SeriesExplained, result: TimingsExplained) -> Iterator[Table]:
    """Table of what less work would save."""
    if not result.what_if:
        return
    columns = [Column(title="what if", cells=[y.text for y in result.what_if], align="left")]
    for i, p in enumerate(x.p.tolist()):
        saved = [x.saving(y, i) for y in result.what_if]
        columns.append(
            Column(
                title=f"p = {whole(p)}", unit="saves [%]", cells=[in_percent(s[0]) for s in saved]
            )
        )
        ends = [(in_percent(s[1]), in_percent(s[2])) for s in saved]
        columns.append(interval_column("90% interval", "[%]", ends))
    forms: Sequence[list[Column]] = [columns, [columns[0], *columns[-2:]]]
    yield Table(title="Less work", forms=tuple(Form(columns=y) for y in forms))


def _facts(x: SeriesExplained) -> Iterator[Fact]:
    """What it is based on, and what one run more would decide."""
    run = x.next_run
    if run is None:
        below = f"no run below p = {whole(x.p.max())}"
        yield Fact("next run", f"{below} would narrow the forecast there by 5%")
    else:
        at = ", ".join(f"{name} = {whole(value)}" for name, value in run.at.items())
        narrower = f"{run.target_width_before:.2g}-fold to {run.target_width_after:.2g}-fold"
        target = ", ".join(f"{name} = {whole(value)}" for name, value in run.target.items())
        yield Fact(
            "next run",
            f"{at} ({run.measure.time_text(run.time)}): the interval at {target} narrows from "
            f"{narrower}; it {run.because}",
        )
    yield Fact("laws", listed((f"{name} {in_percent(w)}%" for name, w in x.parts.laws), 6))
    yield Fact("scaling", x.scaling)
    yield Fact("based on", x.rests_on)
