"""Latency, bandwidth, saturation and primitives of a machine, from tables of message benchmarks.

- latency: half a round trip of the shortest message that was measured;
- bandwidth: r_inf of ``t = t0 + m / r_inf``, fitted to the large messages of the ping-pong, those
  above a bend [1]_; without these, the highest rate of a stream of messages;
- saturation: the highest rate of all pairs together, of several pairs at once or of an all-to-all,
  whose P*(P - 1) messages of m bytes take t: ``P * (P - 1) * m / t`` [1]_;
- primitives: how start-up and time of a byte of a collective depend on P is chosen by
  `measured_primitive`. What makes no key of a machine becomes a remark.

References
----------
.. [1] PARKBENCH Committee, "Public international benchmarks for parallel computers," Scientific
   Programming, vol. 3, no. 2, 1994: COMMS1 and COMMS3.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from parcast.calibration.benchmarks.machine_figures import (
    MachineFigures,
    SourcedFigure,
    figure_of,
    files_of,
    median_of,
    named_first,
    written,
)
from parcast.calibration.benchmarks.memories import of_one_memory
from parcast.calibration.benchmarks.message_tables import (
    COLLECTIVES,
    MessageTable,
    Named,
    by_processes,
    ends_of_lines,
    is_mostly_bytes,
    medians,
    tools_of,
)
from parcast.files.decoding import name_of
from parcast.files.faults import Faults
from parcast.laws.primitives.measured import (
    FEWEST_COUNTS,
    PrimitiveFit,
    chosen_times,
    measured_primitive,
)
from parcast.laws.primitives.message import (
    FEWEST_LONG,
    MessageCurve,
    fit_long_messages,
    fit_messages,
)
from parcast.units import percent

MOSTLY_BYTES = 0.5  # share of the largest message's time that its bytes must take [D]
SHORT = 64  # bytes: up to this size the time should not depend on it [B] [D]
Rate = tuple[float, str, int]  # [B/s], its source, and the processes
SAME = 0.95  # of a rate: as much of it as two benchmarks agree on [D]
DISTURBED = 1.5  # times the median of short messages [D]
BAD_FIT = 0.25  # relative error from which it is told [D]
SHAPES: Final = {"logarithmic": "log2(p)", "linear": "p"}  # as expressions have them
TRACE = 1e-6  # of the other coefficient
Keys = dict[str, str]  # "startup" and "bandwidth", as a machine file has them


def network_figures(tables: Sequence[MessageTable], notes: list[str]) -> Iterator[SourcedFigure]:
    """Give latency, bandwidth and saturation of [network] as far as the tables tell; add notes."""
    messages = by_processes(tables, "message").get(2, {})
    if messages:
        smallest, times = next(iter(messages.items()))
        tool = tools_of(tables, "message")
        source = f"{tool}, 2 processes, {smallest} B, half a round trip"
        yield figure_of("network.latency", times, "time", source)
        notes += _latency_notes(medians(messages), tool)
    rate = _fitted_rate(tables, notes) or next(_highest(tables, "rate", notes), None)
    if rate is not None:
        yield SourcedFigure(key="network.bandwidth", text=written(rate[0], "rate"), source=rate[1])
    of_pairs, of_all = (_highest(tables, kind, notes) for kind in ("pairs", "alltoall"))
    together = max([*of_pairs, *of_all], default=None)
    if together is not None:
        yield SourcedFigure(
            key="network.saturation", text=written(together[0], "rate"), source=together[1]
        )
        processes = together[2]
        notes.append(
            f"network.saturation is the highest rate of {processes} processes together. The "
            "network may reach more: measure with all processors."
        )
        if rate is not None and together[0] < SAME * rate[0]:
            notes.append(
                "network.saturation is less than network.bandwidth: there may have been more "
                "processes than processors. Use one process per processor."
            )


def _latency_notes(times: dict[int, float], tool: str) -> Iterator[str]:
    """Say where one latency and one bandwidth are not enough."""
    smallest, first = next(iter(times.items()))
    short = sorted(time for size, time in times.items() if size <= SHORT)
    if not short:
        yield (
            f"{tool}: the shortest message has {smallest} B; network.latency includes the time "
            "to transfer them. Measure from 0 B."
        )
    elif first > DISTURBED * (middle := short[len(short) // 2]):
        yield (
            f"{tool}: messages of {smallest} B took {written(first, 'time')}, others of up to "
            f"{SHORT} B {written(middle, 'time')}. The measurement was disturbed: repeat it "
            "several times."
        )
    filled = {size: time for size, time in times.items() if size > 0}
    curve = fit_messages(list(filled), list(filled.values())) if len(filled) > 1 else None
    if curve is not None and curve.bend is not None:
        yield f"{tool}: {bend_words(curve, curve.bend)}"
    elif curve is not None and curve.switches:
        yield (
            f"{tool}: the protocol seems to switch at about "
            f"{' B and '.join(f'{switch:.0f}' for switch in curve.switches)} B. "
            "network.latency is that of shorter messages, network.bandwidth that of longer ones."
        )


def bend_words(curve: MessageCurve, bend: float) -> str:
    """Say from which size on [B] the bytes of messages take longer, and what follows."""
    below = max(piece.byte for piece in curve.pieces if piece.first < bend)
    rate = f"pass at {written(1.0 / below, 'rate')}" if below > 0 else "take as long as empty ones"
    return (
        f"times bend at about {bend:.0f} B: shorter messages {rate}, longer ones pass at "
        f"{written(1.0 / curve.byte, 'rate')}, as on a link that is limited after a burst. "
        "network.bandwidth is that of longer ones, so programs with short messages may be faster "
        "than predicted."
    )


def _fitted_rate(tables: Sequence[MessageTable], notes: list[str]) -> Rate | None:
    """Give r_inf of the ping-pong, if its messages are long enough to tell."""
    times = medians(by_processes(tables, "message").get(2, {}))
    if not times:
        return None
    largest, tool = max(times), tools_of(tables, "message")
    fit = fit_long_messages(list(times), list(times.values())) if len(times) > 1 else None
    if fit is not None and fit.byte * largest >= MOSTLY_BYTES * times[largest]:
        source = (
            f"{tool}, 2 processes, r_inf of t = t0 + m/r_inf from {fit.first:.0f} to {largest} B, "
            f"mean error {percent(fit.error)}"
        )
        return 1.0 / fit.byte, source, 2
    if fit is None and is_mostly_bytes(times, largest):
        notes.append(
            f"{tool}: network.bandwidth is not determined by its {len(times)} sizes, "
            f"as fewer than {FEWEST_LONG} are long. Measure more sizes, up to {largest} B."
        )
    else:
        notes.append(_too_short(tool, largest, "network.bandwidth"))
    return None


def _too_short(tool: str, size: int, key: str) -> str:
    return (
        f"{tool}: {key} is not determined by messages of up to {size} B, most of whose time is "
        "startup. Measure up to 4 MiB."
    )


def _highest(tables: Sequence[MessageTable], kind: str, notes: list[str]) -> Iterator[Rate]:
    """Give the highest rate of a kind for each count of processes, where it is one of bytes.

    Of an all-to-all only that of the most processes; two are a single pair.
    """
    tool, of = tools_of(tables, kind), by_processes(tables, kind)
    is_of_all = kind == "alltoall"
    if is_of_all:
        of = {p: values for p, values in of.items() if p == max(of) > 2}
    for processes, values in of.items():
        known = {size: x for size, x in medians(values).items() if size > 0}
        if not known:
            continue
        sent = processes * (processes - 1) if is_of_all else 1
        rates = {m: sent * m / x for m, x in known.items()} if is_of_all else known
        times = known if is_of_all else {m: m / x for m, x in known.items()}
        rate, size = max((rate, size) for size, rate in rates.items())
        if not is_mostly_bytes(times, size):
            key = "network.bandwidth" if kind == "rate" else "network.saturation"
            notes.append(_too_short(tool, max(rates), key))
            continue
        _, spread = median_of(values[size], "time" if is_of_all else "rate")
        source = f"{tool}, {processes} processes"
        if is_of_all:
            source += f", P*(P - 1)*m/t at m = {size} B" + (f", t{spread}" if spread else "")
        else:
            in_pairs = " in pairs" if kind == "pairs" else ""
            source += f"{in_pairs}, highest rate, at {size} B{spread}"
        yield rate, source, processes


def collective_figures(
    tables: Sequence[MessageTable], notes: list[str]
) -> tuple[list[SourcedFigure], list[str]]:
    """Give keys of `primitives` and remarks on collectives without a rate; add notes on them."""
    figures: list[SourcedFigure] = []
    remarks: list[str] = []
    single, too_short, bad = [], [], []
    for name in (*COLLECTIVES, "barrier"):
        by_p = {p: medians(x) for p, x in by_processes(tables, name).items() if p > 1}
        is_barrier = name == "barrier"  # which has no bytes
        times = by_p if is_barrier else chosen_times(by_p)
        if not times:
            continue
        few = len(times) < FEWEST_COUNTS
        fit = measured_primitive(times)
        keys = written_keys(fit)
        counts = [max(times)] if few and not is_barrier else times
        source = f"{tools_of(tables, name)}, {', '.join(map(str, counts))} processes"
        if "bandwidth" not in keys and not is_barrier:
            too_short.append(name)
            remarks.append(
                f"{name}: startup {keys['startup']}; {source}, messages too short to determine a "
                "bandwidth"
            )
            continue
        if few:
            single.append(f"{name} (p = {max(times)})")
        if fit.error > BAD_FIT:
            bad.append(f"{name} {percent(fit.error)}")
        if few:
            source += f", {'the largest ' if is_barrier else ''}used for every p"
        if not (few and is_barrier):
            source += f", fit error {percent(fit.error)}"
        figures += [
            SourcedFigure(key=f"primitives.{name}.{key}", text=text, source=source)
            for key, text in keys.items()
        ]
    notes += _notes(single, too_short, bad)
    if remarks:
        notes.append("Results without a key in a machine file are in comments at its end.")
    return figures, remarks


def _notes(single: Sequence[str], too_short: Sequence[str], bad: Sequence[str]) -> Iterator[str]:
    """Say which primitives are based on few data."""
    if single:
        yield (
            f"Measured at fewer than {FEWEST_COUNTS} process counts, so the values of the "
            f"largest are used for every p: {', '.join(single)}. Measure at p = 2, 4, 8 and more."
        )
    if too_short:
        yield (
            "Bandwidth not determined, as longer messages took no longer or only one size was "
            f"measured: {', '.join(too_short)}. Measure longer messages."
        )
    if bad:
        yield (
            f"Startup and bandwidth fit the times poorly, with errors of: {', '.join(bad)}. "
            "Measure again on an idle machine."
        )


def written_keys(fit: PrimitiveFit) -> Keys:
    """Write a fit with units that a person reads, as far as its formulas are that simple.

    There is no "bandwidth" where the time does not grow with the bytes.
    """
    keys = fit.described()
    alpha, beta = _without_traces(fit.startup)
    terms = [written(alpha, "time")] if alpha > 0 or not beta > 0 else []
    if beta > 0:
        terms.append(f"{written(beta, 'time')}*{SHAPES[fit.startup_form]}")
    keys["startup"] = " + ".join(terms)
    alpha, beta = _without_traces(fit.byte)
    if alpha > 0 and not beta > 0:
        keys["bandwidth"] = written(1.0 / alpha, "rate")
    elif beta > 0 and not alpha > 0:
        keys["bandwidth"] = f"{written(1.0 / beta, 'rate')} / {SHAPES[fit.byte_form]}"
    return keys


def _without_traces(coefficients: tuple[float, float]) -> tuple[float, float]:
    """Give coefficients with 0 for one that rounding alone keeps above it."""
    alpha, beta = coefficients
    return (alpha if alpha > TRACE * beta else 0.0), (beta if beta > TRACE * alpha else 0.0)


def machine_of_network(
    title: str,
    paths: Sequence[Path],
    tables: Sequence[MessageTable],
    notes: list[str],
    named: Named,
    *,
    format: str,
    memory: str | None,
    hint: str,
) -> MachineFigures:
    """Figures of network and primitives, from the tables that a suite wrote into `paths`.

    Notes on them are added to `notes`, after those that name something. `hint` says what to import
    instead, where nothing tells of a machine.
    """
    tables = of_one_memory(tables, memory, format=format, paths=paths)
    notes += ends_of_lines(paths)
    notes += [text.format(named_first(names)) for text, names in named.items() if names]
    figures = [*network_figures(tables, notes)]
    primitives, remarks = collective_figures(tables, notes)
    if not (figures or primitives or remarks):
        Faults(name_of(paths[0])).refuse(
            "must contain results of network benchmarks. " + (" ".join(notes) or hint)
        )
    return MachineFigures(
        source=files_of(title, paths),
        figures=(*figures, *primitives),
        remarks=tuple(remarks),
        notes=tuple(notes),
    )
