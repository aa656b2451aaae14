"""The records of one Caliper profile, in whichever form they were written down."""

import math
from collections.abc import Mapping
from typing import Any, NoReturn

from parcast.io.faults import Faults
from parcast.io.formats.caliper_columns import TimeColumn
from parcast.io.formats.call_profile import CallProfile, as_number
from parcast.io.formats.region_times import RegionTimes
from parcast.units import shown

Path = tuple[str, ...]

MOST_RANKS = 10**9


class Records:
    """Times by column, region and rank, added up where several records tell of one."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.metadata: dict[str, Any] = {}
        self.outside: dict[TimeColumn, float] = {}  # of what is in no region [s]
        self.columns: dict[TimeColumn, RegionTimes] = {}
        self._ranks: set[int] = set()

    def add(
        self,
        path: Path,
        rank: Any,
        times: Mapping[TimeColumn, Any],
        *,
        line: int | None = None,
        field: str = "",
    ) -> None:
        """Take in one record.

        Raises
        ------
        FileProblems
            If its rank is none, or a time is not a finite number of at least 0.
        """
        place = as_number(rank) if rank is not None else 0.0
        if place is None or not place.is_integer() or not 0 <= place < MOST_RANKS:
            self._refuse(f"must be a rank, got {shown(repr(rank))}.", line, field or "mpi.rank")
        if rank is not None:
            self._ranks.add(int(place))
        for column, value in times.items():
            if value is None:
                continue
            time = as_number(value)
            if time is None or not math.isfinite(time) or time < 0:
                got = shown(repr(value))
                self._refuse(
                    f"must be a time of at least 0, got {got}.", line, field or column.name
                )
            time *= column.scale
            if not path:
                self.outside[column] = max(self.outside.get(column, 0.0), time)
                continue
            if column not in self.columns:
                self.columns[column] = RegionTimes()
            self.columns[column].add(path, int(place), time)

    def profile(self, column: TimeColumn) -> CallProfile:
        """Make a profile of one column."""
        return CallProfile(
            faults=self.faults,
            times=self.columns[column],
            ranks=len(self._ranks) or None,
            metadata=self.metadata,
            divide=column.across == "sum",
        )

    def _refuse(self, message: str, line: int | None, field: str) -> NoReturn:
        """Refuse the file with a fault at some place."""
        self.faults.add(f"{message} Profile the run again.", line=line, field=shown(field))
        self.faults.raise_all()
