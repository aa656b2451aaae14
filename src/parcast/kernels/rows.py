"""Runs as rows: of a JSON document, of a table of measurements, and what is to be said of them.

A disturbed run does not count in a table of measurements where another run of the same size on as
many ranks was not disturbed: its time is there under a name that a forecast passes over.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from parcast.kernels.kernel import Run
from parcast.kernels.registry import kernel_named
from parcast.timings.disturbed import counting, is_disturbed, least_quantum, slowdown
from parcast.words import disturbance

SCHEMA: Final = "parcast/runs/1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Circumstances:
    """What others on the machine did to a run."""

    slowdown: float | None  # of the processors around it; None where nobody looked [1]
    is_disturbed: bool | None  # None where nobody looked
    counts: bool = True  # in a table of measurements


def circumstances(runs: Sequence[Run]) -> tuple[Circumstances, ...]:
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


def document_of(runs: Sequence[Run]) -> dict[str, Any]:
    """Everything as one JSON document, schema ``parcast/runs/1``."""
    return {
        "schema": SCHEMA,
        "rows": [row_of(run, seen) for run, seen in zip(runs, circumstances(runs), strict=True)],
        "warnings": warnings_of(runs),
    }


def row_of(run: Run, seen: Circumstances) -> dict[str, Any]:
    """Give a run as a row of a JSON document; a list has an element for each rank."""
    return {
        "program": run.kernel,
        "p": run.p,
        "n": run.n,
        "repetition": run.repetition,
        "time_s": run.time,
        "compute_s": list(run.compute),
        "disk_s": run.disk,
        "steps": list(run.steps),
        "rate": run.rate,
        "messages": list(run.messages),
        "sent_bytes": list(run.sent),
        "disk_bytes": run.disk_bytes,
        "is_correct": run.is_correct,
        "cores": run.cores,
        "quanta_s": list(run.quanta),
        "waited_s": run.waited,
        "slowdown": seen.slowdown,
        "disturbed": seen.is_disturbed,
        "counts": seen.counts,
    }


def measurement_rows(runs: Sequence[Run]) -> Iterator[dict[str, Any]]:
    """Give runs as rows of a table of measurements, one for each figure of a run.

    The columns `metric,value` hold the time, which a forecast reads, and all else, which it passes
    over: so the "disturbed_time" of a run that does not count. Where the clock stepped there is
    none.
    """
    for run, seen in zip(runs, circumstances(runs), strict=True):
        name = "time_s" if seen.counts else "disturbed_time"
        figures: dict[str, float | None] = {
            name: run.time if run.time > 0 else None,
            "compute_max": max(run.compute),
            "compute_mean": sum(run.compute) / run.p,
            "disk": run.disk,
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
        key = {"callpath": run.kernel, "p": run.p, "n": run.n, "repetition": run.repetition}
        for metric, value in figures.items():
            if value is not None:
                yield {**key, "metric": metric, "value": value}


def warnings_of(runs: Sequence[Run]) -> list[str]:
    """Say what a reader of runs must know, in sentences."""
    notes = []
    crowded = {run.p: run.cores for run in runs if run.p > run.cores}
    for p, cores in sorted(crowded.items()):
        one = "one core" if cores == 1 else f"{cores} cores"
        notes.append(
            f"{p} ranks shared {one}: they took turns, so the wall time shows no speedup "
            "beyond that: leave it out of a forecast. Processor seconds hold all the same."
        )
    stepped = [run for run in runs if run.time <= 0]
    if stepped:
        notes.append(
            f"The clock stepped, so that there is no wall time at {_places(stepped)}. "
            "Run it again."
        )
    wrong = [run for run in runs if run.is_correct is False]
    if wrong:
        notes.append(
            f"The result is wrong at {_places(wrong)}: it is not that of one processor. "
            "Do not use these times."
        )
    if runs and all(run.is_correct is None for run in runs):
        largest = kernel_named(runs[0].kernel).checked_up_to
        notes.append(
            f"No result was checked: without --check that is done up to n = {largest:,} only."
        )
    return [*notes, *_disturbed(runs)]


def _disturbed(runs: Sequence[Run]) -> Iterator[str]:
    """Say which runs were disturbed, as work quanta around them tell."""
    pairs = list(zip(runs, circumstances(runs), strict=True))
    for p in sorted({run.p for run in runs}):
        there = [(run, seen) for run, seen in pairs if run.p == p and seen.slowdown is not None]
        slow = [(run, seen) for run, seen in there if seen.is_disturbed]
        if slow:
            most = max(seen.slowdown or 1.0 for _, seen in slow)
            waiting = max(run.waiting for run, _ in slow)
            yield (
                f"{len(slow)} of {len(there)} runs at p = {p} were disturbed: "
                f"{disturbance(most, waiting)}. {_what_they_count([seen for _, seen in slow])}"
            )


def _what_they_count(disturbed: Sequence[Circumstances]) -> str:
    """Say whether disturbed runs count, and what to do where they do."""
    counting = sum(seen.counts for seen in disturbed)
    if not counting:
        return "They do not count in a table of measurements: others of the same size do."
    which = "They" if counting == len(disturbed) else f"{counting} of them"
    return (
        f"{which} count, as no other run of the same size is better. Take more repetitions, allow "
        "for waiting (--patience), or choose a quieter time."
    )


def _places(runs: Sequence[Run]) -> str:
    """Name some runs."""
    return ", ".join(f"p = {run.p}, n = {run.n}, {run.repetition}" for run in runs[:4])
