"""The answer to `calibrate` for a person: what was measured, how sure it is, and what to mend."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from parcast.calibration.result import Calibration, Measured
from parcast.show.page import Page
from parcast.show.table import Column, side_by_side
from parcast.units import format_quantity, percent, quantity, shown
from parcast.words import PrimitiveWords, rounded_interval

GROUPS: Final = {  # titles of the tables of keys, in their order
    "compute": "processor",
    "timer": "timer",
    "network": "network",
    "storage": "storage",
}
SHORT: Final = {  # each way of measuring in a few words; the file has all of them
    "compute.rate": "polynomials",
    "compute.memory_bandwidth": "triad",
    "network.latency": "ping-pong",
    "network.bandwidth": "ping-pong",
    "network.half_size": "ping-pong",
    "network.one_directional": "one way",
    "network.bidirectional": "both ways at once",
    "network.saturation": "all at once",
    "storage.bandwidth": "write and fsync",
    "storage.latency": "write and fsync",
    "storage.read_bandwidth": "read past the cache",
    "storage.cache": "told by the system",
    "storage.cache_bandwidth": "read from the cache",
}
NARROW: Final = 1e-4  # of a value: an interval that is not worth its digits
TINY: Final = 1e-9  # of a value: an end of its interval that is as good as 0
MOST: Final = 4  # significant digits
HANG: Final = 4  # characters
MARK: Final = "*"  # of a value that is not settled


def calibration_answer(
    calibration: Calibration,
    page: Page,
    *,
    primitives: Sequence[PrimitiveWords] = (),
    taken: Mapping[str, str] | None = None,
) -> list[str]:
    """Lines of the answer.

    Parameters
    ----------
    calibration : Calibration
        What to show.
    page : Page
        Where it is shown.
    primitives : sequence of PrimitiveWords, optional
        Its primitives.
    taken : mapping of str to str, optional
        Keys that files of other benchmarks tell, and what they say.

    Returns
    -------
    list of str
    """
    written = [*map(page.bold, page.wrapped(title_of(calibration), indent=0)), ""]
    for table in (_values(calibration, page), _primitives(primitives, page)):
        written += [*table, ""] if table else []
    if calibration.unsettled or not all(x.is_settled for x in primitives):
        legend = (
            f"{MARK}: not settled, its interval is still wider than "
            f"{percent(calibration.target)} to either side"
        )
        written += [*map(page.faint, page.wrapped(legend, indent=0)), ""]
    for name, text in facts_of(calibration):
        written += page.entry(name, text)
    for i, (key, text) in enumerate((taken or {}).items()):
        written += page.entry("" if i else "from files", _one_line(f"{key} = {text}"))
    for text in calibration.warnings:
        written += page.entry("warning:", _one_line(text), is_marked=True)
    return written


def title_of(calibration: Calibration) -> str:
    """Say what was measured and in what time."""
    took = format_quantity(calibration.seconds, "time", 2)
    until = "until it was interrupted" if calibration.was_interrupted else f"in {took}"
    return _one_line(f"{calibration.name}: measured {until}")


def facts_of(calibration: Calibration) -> Iterator[tuple[str, str]]:
    """Give where it was measured."""
    host = calibration.host
    load = f", load {host.load_before:.2g}" if math.isfinite(host.load_before) else ""
    cores = "1 core" if host.cores == 1 else f"{host.cores} cores"
    yield "host", _one_line(f"{host.name}: {host.model or host.system}, {cores}{load}")
    if host.mpi:
        shared = [ranks for ranks, how in host.placement.items() if how == "one"]
        beside = f"; {', '.join(map(str, shared))} ranks share one core" if shared else ""
        yield "MPI", _one_line(f"{host.mpi}{beside}")
    if host.directory:
        yield "files in", _one_line(host.directory)


def _values(calibration: Calibration, page: Page) -> list[str]:
    """Write the values, as a table or, on a narrow page, one after another."""
    rows: list[tuple[str, str, str, str]] = []
    for group, title in GROUPS.items():
        found = [x for x in calibration.measured if x.key.startswith(f"{group}.")]
        rows += [(title, "", "", "")] if found else []
        for each in found:
            value, interval = interval_words(each)
            rows.append((f"  {_name_of(each)}", value, interval, SHORT.get(each.key, "")))
    if not rows:
        return []
    names, values, intervals, ways = zip(*rows, strict=True)
    columns = [
        Column(title="", cells=names, is_text=True),
        Column(title="value", cells=values),
        Column(title="90 % interval", cells=intervals, is_text=True),
        Column(title="measured by", cells=ways, is_text=True),
    ]
    laid_out = side_by_side(columns, page)
    if laid_out:
        return [page.bold(laid_out[0]), *laid_out[2:]]  # the line of units is empty
    lines = []
    for name, value, interval, _ in rows:
        beside = f"{value} ({interval})" if interval else value
        lines += _hanging(f"{name}: {beside}", page) if value else [page.bold(name)]
    return lines


def interval_words(each: Measured) -> tuple[str, str]:
    """Texts of a value with its unit and of its interval without, "" where there is none."""
    if each.launches == 1 and not math.isfinite(each.lower):
        return format_quantity(each.value, each.dimension), "one launch"
    width = each.upper - each.lower
    if not math.isfinite(width) or width <= NARROW * each.value or each.value <= 0:
        return format_quantity(each.value, each.dimension), ""
    unit = format_quantity(each.value, each.dimension).partition(" ")[2]
    factor = quantity(f"1 {unit}", each.dimension, name=each.key) if unit else 1.0
    ends = (x / factor for x in (each.value, max(each.lower, TINY * each.value), each.upper))
    value, lower, upper = rounded_interval(*ends, most=MOST)
    lower = lower if each.lower > TINY * each.value else "0"
    return f"{value} {unit}".rstrip(), f"{lower} to {upper}"


def _name_of(each: Measured) -> str:
    """Name of a value in its table, marked where it is not settled."""
    return each.key.partition(".")[2] + ("" if each.settled else f" {MARK}")


def _primitives(primitives: Sequence[PrimitiveWords], page: Page) -> list[str]:
    """Write the primitives, as a table or, on a narrow page, one after another."""
    if not primitives:
        return []
    names = [x.name + ("" if x.is_settled else f" {MARK}") for x in primitives]
    columns = [
        Column(title="primitive", cells=names, is_text=True),
        Column(title="startup", cells=[x.startup for x in primitives], is_text=True),
        Column(title="bandwidth", cells=[x.bandwidth for x in primitives], is_text=True),
        Column(title="error", cells=[x.error for x in primitives]),
        Column(title="p", cells=[x.counts for x in primitives], is_text=True),
    ]
    laid_out = side_by_side(columns, page)
    if laid_out:
        return [page.bold(laid_out[0]), *laid_out[2:]]
    lines = [page.bold("primitives")]
    for name, x in zip(names, primitives, strict=True):
        rate = f", {x.bandwidth}" if x.bandwidth else ""
        lines += _hanging(f"  {name} (p = {x.counts}): {x.startup}{rate}", page)
    return lines


def _hanging(text: str, page: Page) -> list[str]:
    """Break a text into lines, of which all but the first are indented."""
    first, *others = page.wrapped(text, indent=HANG)
    return [first, *(" " * HANG + line for line in others)]


def _one_line(text: str) -> str:
    """Write text that holds names of a host, which may hold anything."""
    return shown(text, limit=10_000)
