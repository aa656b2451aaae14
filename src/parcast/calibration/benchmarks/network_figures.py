"""Latency, bandwidth and saturation of a network, from the tables of message benchmarks.

- latency: half a round trip of the shortest message that was measured;
- bandwidth: r_inf of ``t = t0 + m / r_inf``, fitted to the large messages of the ping-pong, those
  above a bend [1]_; without these, the highest rate of a stream of messages;
- saturation: the highest rate of all pairs together, of several pairs at once or of an all-to-all,
  whose P*(P - 1) messages of m bytes take t: ``P * (P - 1) * m / t`` [1]_.

References
----------
.. [1] PARKBENCH Committee, "Public international benchmarks for parallel computers," Scientific
   Programming, vol. 3, no. 2, 1994: COMMS1 and COMMS3.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from parcast.calibration.benchmarks.collective_figures import collective_figures
from parcast.calibration.benchmarks.machine_figures import (
    MachineFigures,
    SourcedFigure,
    files_of,
    median_of,
    written,
)
from parcast.calibration.benchmarks.message_tables import (
    MessageTable,
    by_processes,
    is_mostly_bytes,
    medians,
    tools_of,
)
from parcast.files.decoding import name_of
from parcast.files.faults import Faults
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


def network_figures(tables: Sequence[MessageTable], notes: list[str]) -> Iterator[SourcedFigure]:
    """Give latency, bandwidth and saturation of [network] as far as the tables tell; add notes."""
    messages = by_processes(tables, "message").get(2, {})
    if messages:
        smallest = next(iter(messages))
        latency, spread = median_of(messages[smallest], "time")
        tool = tools_of(tables, "message")
        yield SourcedFigure(
            key="network.latency",
            text=written(latency, "time"),
            source=f"{tool}, 2 processes, {smallest} B, half a round trip{spread}",
        )
        notes += _latency_notes(medians(messages), tool)
    rate = _fitted_rate(tables, notes) or _highest_rate(tables, notes)
    if rate is not None:
        yield SourcedFigure(key="network.bandwidth", text=written(rate[0], "rate"), source=rate[1])
    of_pairs = _highest(tables, "pairs", "network.saturation", notes)
    together = max([*of_pairs, *_rates_of_alltoall(tables, notes)], default=None)
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


def _fitted_rate(tables: Sequence[MessageTable], notes: list[str]) -> tuple[float, str] | None:
    """Give r_inf of the ping-pong and its source, if its messages are long enough to tell."""
    times = medians(by_processes(tables, "message").get(2, {}))
    if not times:
        return None
    largest, tool = max(times), tools_of(tables, "message")
    fit = fit_long_messages(list(times), list(times.values())) if len(times) > 1 else None
    if fit is not None and fit.byte * largest >= MOSTLY_BYTES * times[largest]:
        return 1.0 / fit.byte, (
            f"{tool}, 2 processes, r_inf of t = t0 + m/r_inf from {fit.first:.0f} to {largest} B, "
            f"mean error {percent(fit.error)}"
        )
    if fit is None and is_mostly_bytes(times, largest):
        notes.append(
            f"{tool}: network.bandwidth is not determined by its {len(times)} sizes, "
            f"as fewer than {FEWEST_LONG} are long. Measure more sizes, up to {largest} B."
        )
    else:
        notes.append(_too_short(tool, largest, "network.bandwidth"))
    return None


def _too_short(tool: str, size: int, key: str) -> str:
    """Say that messages tell no rate."""
    return (
        f"{tool}: {key} is not determined by messages of up to {size} B, most of whose time is "
        "startup. Measure up to 4 MiB."
    )


def _highest_rate(tables: Sequence[MessageTable], notes: list[str]) -> tuple[float, str] | None:
    """Give the highest rate of a stream of messages from one process to another."""
    rates = [*_highest(tables, "rate", "network.bandwidth", notes)]
    return rates[0][:2] if rates else None


def _highest(
    tables: Sequence[MessageTable], kind: str, key: str, notes: list[str]
) -> Iterator[Rate]:
    """Give the highest rate of a kind for each count of processes, where it is one of bytes."""
    tool = tools_of(tables, kind)
    for processes, values in by_processes(tables, kind).items():
        rates = {size: rate for size, rate in medians(values).items() if size > 0}
        if not rates:
            continue
        rate, size = max((rate, size) for size, rate in rates.items())
        if not is_mostly_bytes({m: m / r for m, r in rates.items()}, size):
            notes.append(_too_short(tool, max(rates), key))
            continue
        _, spread = median_of(values[size], "rate")
        in_pairs = " in pairs" if kind == "pairs" else ""
        source = f"{tool}, {processes} processes{in_pairs}, highest rate, at {size} B{spread}"
        yield rate, source, processes


def _rates_of_alltoall(tables: Sequence[MessageTable], notes: list[str]) -> Iterator[Rate]:
    """Give the highest rate of an all-to-all of the most processes; two are a single pair."""
    tool = tools_of(tables, "alltoall")
    of = {p: values for p, values in by_processes(tables, "alltoall").items() if p > 2}
    processes = max(of, default=0)
    values = {size: times for size, times in of.get(processes, {}).items() if size > 0}
    if not values:
        return
    sent, times = processes * (processes - 1), medians(values)
    rate, size = max((sent * m / t, m) for m, t in times.items())
    if not is_mostly_bytes(times, size):
        notes.append(_too_short(tool, max(times), "network.saturation"))
        return
    _, spread = median_of(values[size], "time")
    source = f"{tool}, {processes} processes, P*(P - 1)*m/t at m = {size} B, t{spread}"
    yield rate, source.removesuffix(", t"), processes


def machine_of_network(
    title: str,
    paths: Sequence[Path],
    tables: Sequence[MessageTable],
    notes: list[str],
    *,
    hint: str,
) -> MachineFigures:
    """Figures of network and primitives, from the tables that a suite wrote into `paths`.

    Notes on them are added to `notes`. `hint` says what to import instead, where nothing tells of
    a machine.
    """
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
