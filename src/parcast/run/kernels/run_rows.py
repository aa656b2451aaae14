"""Runs as rows: of a JSON document, of a table of measurements, and what is to be said of them."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from parcast.run.kernels.kernel import Run
from parcast.run.kernels.quanta import is_disturbed, least_quantum, slowdown
from parcast.run.kernels.registry import kernel_named
from parcast.text.disturbances import disturbance

SCHEMA: Final = "parcast/runs/1"


def document_of(runs: Sequence[Run]) -> dict[str, Any]:
    """Everything as one JSON document, schema ``parcast/runs/1``."""
    return {
        "schema": SCHEMA,
        "rows": [row_of(run) for run in runs],
        "warnings": warnings_of(runs),
    }


def row_of(run: Run) -> dict[str, Any]:
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
    }


def measurement_rows(runs: Sequence[Run]) -> Iterator[dict[str, Any]]:
    """Give runs as rows of a table of measurements, one for each figure of a run.

    The pair of columns `metric,value` holds the time, which a forecast reads, and all else, which
    it passes over. A run that took no time or less, since the clock stepped, has no time.
    """
    for run in runs:
        figures: dict[str, float | None] = {
            "time_s": run.time if run.time > 0 else None,
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
            "is_correct": None if run.is_correct is None else int(run.is_correct),
        }
        key = {"callpath": run.kernel, "p": run.p, "n": run.n, "repetition": run.repetition}
        for metric, value in figures.items():
            if value is not None:
                yield {**key, "metric": metric, "value": value}


def warnings_of(runs: Sequence[Run]) -> list[str]:
    """Say what a reader of runs must know, in sentences."""
    said = []
    crowded = {run.p: run.cores for run in runs if run.p > run.cores}
    for p, cores in sorted(crowded.items()):
        one = "one core" if cores == 1 else f"{cores} cores"
        said.append(
            f"{p} ranks shared {one}: they took turns, so the wall time shows no speedup. "
            "Processor seconds hold all the same."
        )
    stepped = [run for run in runs if run.time <= 0]
    if stepped:
        said.append(
            f"The clock stepped, so that there is no wall time at {_places(stepped)}. "
            "Run it again."
        )
    wrong = [run for run in runs if run.is_correct is False]
    if wrong:
        said.append(
            f"The result is wrong at {_places(wrong)}: it is not that of one processor. "
            "Do not use these times."
        )
    if runs and all(run.is_correct is None for run in runs):
        largest = kernel_named(runs[0].kernel).checked_up_to
        said.append(
            f"No result was checked: without --check that is done up to n = {largest:,} only."
        )
    return [*said, *_disturbed(runs)]


def _disturbed(runs: Sequence[Run]) -> Iterator[str]:
    """Say which runs were disturbed, as work quanta around them tell."""
    for p in sorted({run.p for run in runs if run.quanta}):
        there = [run for run in runs if run.p == p and run.quanta]
        least = least_quantum(run.quanta for run in there)
        slow = [run for run in there if least and is_disturbed(run.quanta, least, run.waiting)]
        if least and slow:
            most = max(slowdown(run.quanta, least) for run in slow)
            waiting = max(run.waiting for run in slow)
            yield (
                f"{len(slow)} of {len(there)} runs at p = {p} were disturbed: "
                f"{disturbance(most, waiting)}. Others use the machine: take more repetitions, "
                "or a quieter time."
            )


def _places(runs: Sequence[Run]) -> str:
    """Name some runs."""
    return ", ".join(f"p = {run.p}, n = {run.n}, {run.repetition}" for run in runs[:4])
