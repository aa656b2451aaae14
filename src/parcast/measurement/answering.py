"""What `parcast measure` and its parts say: how far they are, the measurement, its forecast."""

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from parcast.cli.failures import ANSWER_IS_NO, ANSWERED, INTERRUPTED, NO_FORECAST
from parcast.cli.options import CountList
from parcast.cli.outputs import Outputs
from parcast.cli.screen import Progress, is_a_terminal, tell

if TYPE_CHECKING:
    from parcast.forecasting.result import Forecast
    from parcast.measurement.result import MeasuredProgram
    from parcast.measurement.table import RunRow


def answer(found: "MeasuredProgram", at: CountList | None, outputs: Outputs) -> int:
    """Give a measurement and its forecast, and return the exit status."""
    forecast, why = _forecast(found, at)
    if forecast is None:
        for path in outputs.pictures:
            tell(f"{path} was not written: there is no forecast.")
        outputs = replace(outputs, paths=[x for x in outputs.paths if x not in outputs.pictures])
    outputs.give(
        found,
        sheets=lambda _: [found.to_sheet(), *([forecast.to_sheet()] if forecast else [])],
        drawn=forecast,
    )
    if found.ended_by == "interrupted":
        tell("interrupted.")
        return INTERRUPTED
    if forecast is None:
        tell(why)
        return NO_FORECAST
    if not found.is_narrow:
        tell(f"no: {found.stopped}, and the interval is wider than asked for.")
        return ANSWER_IS_NO
    return ANSWERED


def from_table(path: str) -> dict[str, str | None]:
    """Name the table that a measurement is in; without runs there is none."""
    from parcast.cli.reading import digest_of

    return {"file": path, "sha256": digest_of(path)} if os.path.exists(path) else {}


def _forecast(found: "MeasuredProgram", at: CountList | None) -> "tuple[Forecast | None, str]":
    """Forecast, or say why there is none."""
    from parcast.errors import ParcastError
    from parcast.forecasting.forecast import forecast

    try:
        return _on_cores(found, forecast(found.measurements(), at.values if at else None)), ""
    except ParcastError as refusal:
        return None, str(refusal)


def _on_cores(found: "MeasuredProgram", told: "Forecast") -> "Forecast":
    """Say which runs that are advised need a larger machine than this one."""
    from parcast.forecasting.series.verdict import NO_FORECAST_THERE, run_to_make
    from parcast.measurement.launchers import takes_turns
    from parcast.show.warning import RankedWarning, ranked

    notes = list(told.notes)
    for i, note in enumerate(notes):
        if note.no_forecast:
            run = int(run_to_make(max(note.no_forecast), *note.measured))
            if takes_turns(found.command, run, found.cores):
                more = f"This needs a larger machine: this one has {found.cores} cores."
                said = (
                    RankedWarning(f"{x} {more}", kind=x.kind, rank=x.rank, size=x.size)
                    if x.kind == NO_FORECAST_THERE
                    else x
                    for x in map(ranked, note.warnings)
                )
                notes[i] = replace(note, warnings=tuple(said))
    return replace(told, notes=tuple(notes))


class Telling:
    """Says how far a measurement is: in a line on a terminal, in lines elsewhere."""

    def __init__(self, progress: Progress) -> None:
        import sys

        self.progress = progress
        self.is_terminal = is_a_terminal(sys.stderr)
        self.seconds = 0.0

    def __call__(self, row: "RunRow", done: int, total: int) -> None:
        """Tell that a run has ended."""
        from parcast.units import format_quantity

        self.seconds += row.seconds
        self.progress(done, total)
        if not self.is_terminal:
            left = format_quantity(self.seconds / done * (total - done), "time", 2)
            what = row.note or format_quantity(row.seconds, "time")
            tell(f"run {done} of {total}: {row.point}: {what}; about {left} left")
