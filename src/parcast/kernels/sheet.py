"""Runs of a program as a table for a person, as a JSON document and as measurements.

A disturbed run does not count in a table of measurements where another run of the same size on as
many ranks was not disturbed: its time is there under a name that a forecast ignores.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from parcast.errors import Argument
from parcast.kernels.kernel import KernelRun
from parcast.kernels.registry import kernel_named
from parcast.show import outline
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.disturbed import counting, is_disturbed, least_quantum, name_of_time, slowdown
from parcast.units import TIME_UNITS, format_quantity
from parcast.words import MARK, OTHERS, common_unit, disturbance, rounded

CORRECT: Final = {True: "yes", False: "NO", None: "not checked"}
DIGITS: Final = 3
LEFT_OUT_FIRST: Final = ("messages", "steps", "mean", "disk")  # where there is no room
RUN: Final = (  # outline of a row, and of what is known of the other runs
    "program=kernel p n repetition time_s compute_s disk_s checkpoint_s restart_s steps rate "
    "messages sent_bytes disk_bytes is_correct cores quanta_s waited_s servers"
)
SEEN: Final = "slowdown disturbed=is_disturbed counts"
SCHEMA: Final = "parcast/runs/1"


def sheet_of(runs: Sequence[KernelRun]) -> Sheet:
    """Everything that is said of runs of one program."""
    if not runs:
        return Sheet(title="No runs")
    kernel, rows = kernel_named(runs[0].kernel), document_of(runs)["rows"]
    legend = (
        "computing, mean: processor time of the slowest rank, mean of all ranks; steps: "
        f"{kernel.step}, all ranks; rate: steps per processor second"
    )
    if any(row["disturbed"] for row in rows):
        legend += f"; {MARK}: {OTHERS}"
    columns = _columns(rows)
    if "checkpoint" in columns:
        legend += "; checkpoints: part of the time in which they were written"
    if "restart" in columns:
        legend += "; restart: reading a checkpoint, before the time begins"
    forms = (
        Form(columns=[x for name, x in columns.items() if name not in LEFT_OUT_FIRST[:left_out]])
        for left_out in range(len(LEFT_OUT_FIRST) + 1)
    )
    in_full = (_in_full(columns, i) for i in range(len(rows)))
    return Sheet(
        title=f"{kernel.name}: {kernel.title}",
        tables=(Table(forms=tuple(forms), in_full=tuple(in_full), legend=legend),),
        warnings=tuple(warnings_of(runs)),
    )


def program_words(name: str, title: str, size: str, example: int) -> tuple[str, str]:
    """Name a program, and say what it does, what n counts and such an n."""
    return name, f"{title}; n: {size}, such as {_copied(example)}"


def _copied(size: int) -> str:
    """Write a size as `-n` reads it: 2500, or 4e6 where that says the same."""
    digits = str(size).rstrip("0")
    zeros = len(str(size)) - len(digits)
    return f"{digits}e{zeros}" if len(digits) == 1 and zeros > 4 else str(size)


def _columns(rows: Sequence[dict[str, Any]]) -> dict[str, Column]:
    """Give all columns by their names; what is the same in all rows, or 0, has none."""
    unit = common_unit([row["time_s"] for row in rows])
    columns = {"p": Column(title="p", cells=[str(row["p"]) for row in rows])}
    columns["n"] = Column(title="n", cells=[f"{row['n']}" for row in rows])
    if any(row["repetition"] != 1 for row in rows):
        columns["repetition"] = Column(title="rep", cells=[str(row["repetition"]) for row in rows])
    times = {
        "time": ("time", [row["time_s"] for row in rows]),
        "most": ("computing", [max(row["compute_s"]) for row in rows]),
        "mean": ("mean", [sum(row["compute_s"]) / row["p"] for row in rows]),
        "disk": ("disk", [row["disk_s"] for row in rows]),
        "checkpoint": ("checkpoints", [row["checkpoint_s"] for row in rows]),
        "restart": ("restart", [row["restart_s"] for row in rows]),
    }
    for name, (title, values) in times.items():
        if any(values):
            cells = [rounded(value / TIME_UNITS[unit], DIGITS) for value in values]
            cells = _marked(cells, rows) if name == "time" else cells
            columns[name] = Column(title=title, unit=f"[{unit}]", cells=cells)
    columns["messages"] = Column(
        title="messages", cells=[str(sum(row["messages"])) for row in rows]
    )
    columns["bytes"] = Column(
        title="sent",
        cells=[format_quantity(sum(row["sent_bytes"]), "size", DIGITS) for row in rows],
    )
    columns["steps"] = Column(
        title="steps", cells=[rounded(float(sum(row["steps"])), DIGITS) for row in rows]
    )
    rates = [row["rate"] and row["rate"] / 1e6 for row in rows]
    columns["rate"] = Column(
        title="rate",
        unit="[10^6/s]",
        cells=["none" if rate is None else rounded(rate, DIGITS) for rate in rates],
    )
    columns["correct"] = Column(
        title="correct", cells=[CORRECT[row["is_correct"]] for row in rows], align="left"
    )
    return columns


def _marked(times: list[str], rows: Sequence[dict[str, Any]]) -> list[str]:
    """Mark the times of disturbed runs, if there are any; digits stay below each other."""
    if not any(row["disturbed"] for row in rows):
        return times
    return [
        f"{time}{MARK if row['disturbed'] else ' '}" for time, row in zip(times, rows, strict=True)
    ]


def _in_full(columns: dict[str, Column], i: int) -> Entry:
    """Give one run, for a page too narrow for a table."""
    named = [name for name in ("p", "n", "repetition") if name in columns]
    return Entry(
        title=", ".join(f"{columns[name].title} = {columns[name].cells[i]}" for name in named),
        facts=tuple(
            Fact(x.title, f"{x.cells[i].strip()} {x.unit.strip('[]')}".rstrip())
            for name, x in columns.items()
            if name not in named
        ),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Circumstances:
    """What others on the machine did to a run."""

    slowdown: float | None  # of the processors around it; None where nobody looked [1]
    is_disturbed: bool | None  # None where nobody looked
    counts: bool = True  # in a table of measurements


def circumstances(runs: Sequence[KernelRun]) -> tuple[Circumstances, ...]:
    """Say what others did to each of some runs, compared with all of as many ranks."""
    least = {
        p: least_quantum(run.quanta for run in runs if run.p == p) for p in {run.p for run in runs}
    }
    seen_of_runs = []
    for run in runs:
        quantum = least[run.p] if run.quanta else None
        seen_of_runs.append(
            Circumstances(
                slowdown=None if quantum is None else slowdown(run.quanta, quantum),
                is_disturbed=None
                if quantum is None
                else is_disturbed(run.quanta, quantum, run.waiting),
            )
        )
    sound = [run.time > 0 and run.is_correct is not False for run in runs]
    counts = counting(
        [(run.kernel, run.n, run.p) for run in runs],
        [
            is_sound and not seen.is_disturbed
            for is_sound, seen in zip(sound, seen_of_runs, strict=True)
        ],
    )
    return tuple(
        replace(seen, counts=not seen.is_disturbed or is_counted)
        for seen, is_counted in zip(seen_of_runs, counts, strict=True)
    )


def document_of(runs: Sequence[KernelRun]) -> dict[str, Any]:
    """Everything as one JSON document, schema ``parcast/runs/1``."""
    return {
        "schema": SCHEMA,
        "rows": [row_of(run, seen) for run, seen in zip(runs, circumstances(runs), strict=True)],
        "warnings": warnings_of(runs),
    }


def row_of(run: KernelRun, seen: Circumstances) -> dict[str, Any]:
    """Give a run as a row of a JSON document; a list has an element for each rank."""
    return outline.document_of(run, RUN) | outline.document_of(seen, SEEN)


def measurement_rows(runs: Sequence[KernelRun]) -> Iterator[dict[str, Any]]:
    """Give runs as rows of a table of measurements, one for each figure of a run.

    The columns `metric,value` hold the time, which a forecast reads, and all else, which it
    ignores: so the "disturbed_time" of a run that does not count, and the "oversubscribed_time" of
    one with more ranks than cores. Where the clock stepped there is none.
    """
    for run, seen in zip(runs, circumstances(runs), strict=True):
        name = name_of_time(run.p, run.cores, counts=seen.counts)
        figures: dict[str, float | None] = {
            name: run.time if run.time > 0 else None,
            "compute_max": max(run.compute),
            "compute_mean": sum(run.compute) / run.p,
            "disk": run.disk,
            "checkpoint": run.checkpoint or None,
            "restart": run.restart or None,
            "steps": sum(run.steps),
            "rate": run.rate,
            "messages": sum(run.messages),
            "sent_bytes": sum(run.sent),
            "disk_bytes": run.disk_bytes,
            "cores": run.cores,
            "work_quantum": slowdown(run.quanta, 1.0) if run.quanta else None,
            "waited": run.waited if run.quanta else None,
            "is_disturbed": None if seen.is_disturbed is None else int(seen.is_disturbed),
            "is_correct": None if run.is_correct is None else int(run.is_correct),
        }
        key: dict[str, Any] = {"callpath": run.kernel, "p": run.p, "n": run.n}
        key |= ({"d": run.servers} if run.servers else {}) | {"repetition": run.repetition}
        for metric, value in figures.items():
            if value is not None:
                yield {**key, "metric": metric, "value": value}


def warnings_of(runs: Sequence[KernelRun]) -> list[str]:
    """Say what a reader of runs must know, in sentences."""
    notes: list[str] = []
    wrong = [run for run in runs if run.is_correct is False]
    if wrong:
        notes.append(
            RankedWarning(
                f"Wrong result at {_places(wrong)}: it differs from that of one processor. "
                "Do not use these times.",
                rank=Rank.UNUSABLE,
            )
        )
    stepped = [run for run in runs if run.time <= 0]
    if stepped:
        notes.append(
            RankedWarning(
                "The clock was changed during the run, so there is no wall time at "
                f"{_places(stepped)}. Run it again.",
                rank=Rank.UNUSABLE,
            )
        )
    notes += _crowded(runs)
    if runs and all(run.is_correct is None for run in runs):
        largest = kernel_named(runs[0].kernel).checked_up_to
        notes.append(
            f"No result was checked, as by default this is done only up to n = {largest:,}. Check "
            f"them with {Argument('check', True)}."
        )
    return [*notes, *_disturbed(runs)]


def _crowded(runs: Sequence[KernelRun]) -> Iterator[str]:
    """Say where ranks took turns."""
    for cores in sorted({run.cores for run in runs}):
        counts = sorted({run.p for run in runs if run.p > run.cores == cores})
        if counts:
            one = "one core" if cores == 1 else f"{cores} cores"
            yield RankedWarning(
                f"{' and '.join(map(str, counts))} ranks took turns on {one}, so the wall time "
                "shows no speedup beyond that: forecast, fit and others leave it out. Processor "
                "times are not affected.",
                rank=Rank.SERIOUS,
            )


def _disturbed(runs: Sequence[KernelRun]) -> Iterator[str]:
    """Say which runs were disturbed, as work quanta around them tell."""
    pairs = zip(runs, circumstances(runs), strict=True)
    seen_of = [(run, seen) for run, seen in pairs if seen.slowdown is not None]
    slow = [(run, seen) for run, seen in seen_of if seen.is_disturbed]
    if slow:
        most = max(seen.slowdown or 1.0 for _, seen in slow)
        waiting = max(run.waiting for run, _ in slow)
        counts = ", ".join(map(str, sorted({run.p for run, _ in slow})))
        are_used = any(seen.counts for _, seen in slow)
        yield RankedWarning(
            f"{len(slow)} of {len(seen_of)} runs were disturbed by other processes, at p = "
            f"{counts}: {disturbance(most, waiting)}. "
            f"{_what_they_count([seen for _, seen in slow])}",
            rank=Rank.SERIOUS if are_used else Rank.PLAIN,
        )


def _what_they_count(disturbed: Sequence[Circumstances]) -> str:
    """Say whether disturbed runs count, and what to do where they do."""
    counting = sum(seen.counts for seen in disturbed)
    if not counting:
        return (
            "Disturbed runs are excluded from a table of measurements, as other runs of the same "
            "size were not."
        )
    which = "Disturbed runs" if counting == len(disturbed) else f"{counting} of them"
    return (
        f"{which} are used, as no other run of the same size is better. Use more repetitions, "
        f"wait for idle processors ({Argument('patience')}), or repeat on an idle machine."
    )


def _places(runs: Sequence[KernelRun]) -> str:
    """Name some runs."""
    return ", ".join(f"p = {run.p}, n = {run.n}, {run.repetition}" for run in runs[:4])
