"""What runs that were ended prove: they took longer than a time, below which no forecast lies."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from parcast.errors import ParcastError
from parcast.forecasting.forecast import forecast
from parcast.measurement.point import MeasuredPoint
from parcast.measurement.table import OK, TIMEOUT, RunRow
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.measurements import Measurements
from parcast.units import format_quantity


def contradictions(rows: Sequence[RunRow]) -> Iterator[str]:
    """Say where forecasts from the runs that count lie below what a run took longer than."""
    known = {x.point for x in rows if x.status == OK}
    bounds = {x.point: x.seconds for x in rows if x.status == TIMEOUT and x.point not in known}
    counting = [x for x in rows if x.status == OK]
    for point, (time, upper) in forecasts_at([*bounds], counting).items():
        bound = bounds[point]
        if time >= bound:
            continue
        text = (
            f"{point}: a run took longer than {format_quantity(bound, 'time')}, but the forecast "
            f"of the other runs is {format_quantity(time, 'time')}"
        )
        beyond = f", and its interval ends at {format_quantity(upper, 'time')}"
        yield RankedWarning(
            f"{text}{beyond if upper < bound else ''}: it is too low there.",
            kind="bound",
            rank=Rank.SERIOUS if upper < bound else Rank.PLAIN,
        )


def forecasts_at(
    points: Sequence[MeasuredPoint], rows: Sequence[RunRow]
) -> dict[MeasuredPoint, tuple[float, float]]:
    """Forecast and the upper end of its 90 % interval at points [s]; without those it has not."""
    found: dict[MeasuredPoint, tuple[float, float]] = {}
    for others in dict.fromkeys(x.values[1:] for x in points):
        own = [x for x in rows if x.point.values[1:] == others]
        asked = [x for x in points if x.values[1:] == others]
        with suppress(ParcastError):
            runs = Measurements(
                p=[x.point.columns["p"] for x in own], time=[x.seconds for x in own]
            )
            told = forecast(runs, [x.columns["p"] for x in asked])
            ends = zip(np.ravel(told.time).tolist(), np.ravel(told.upper).tolist(), strict=True)
            found |= dict(zip(asked, ends, strict=True))
    return found
