"""What is run, in which launches, and what came of it.

A `Case` is run once or more; each run of it is a `Trial`. A `Launch` starts ranks once, and runs
cases of one layout in an order of its own.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from math import inf
from types import NoneType
from typing import Any, ClassVar, Final, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from parcast.saved.fields import NOT_SAVED

LIMIT: Final = (120.0, 20.0)  # of a launch: so long, and times what is expected [s], [1]
DAY: Final = 86400.0  # limit where nothing is expected [s]

Purpose: TypeAlias = Literal["calibration", "comparison"]


class Case(Protocol):
    """What is run, once or more: any hashable object with these."""

    @property
    def layout(self) -> Hashable:
        """Ranks that it needs: cases of equal layout share a launch."""

    @property
    def columns(self) -> Mapping[str, Any]:
        """What tells it from the other cases, as columns of a table."""


@dataclass(frozen=True, slots=True, eq=False)
class ToldCase:
    """A case of which documents tell the columns."""

    columns: Mapping[str, Any]
    layout: ClassVar[None] = None


C = TypeVar("C", bound=Case)
O = TypeVar("O")  # noqa: E741 - what is observed


class SizedCase(NamedTuple):
    """A problem size on a number of ranks."""

    n: int
    p: int

    @property
    def layout(self) -> int:
        """Ranks."""
        return self.p

    @property
    def columns(self) -> Mapping[str, Any]:
        """Size and ranks."""
        return self._asdict()


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial(Generic[C, O]):
    """A run that was made."""

    _saved_as: ClassVar = {"case": NoneType, "observed": NoneType}

    case: C
    purpose: Purpose
    turn: int  # pass through calibration and comparison, from 1
    launch: int  # start of the ranks of a layout, from 1
    repetition: int  # of its case in the launch, from 1
    seconds: float  # wall
    observed: O  # what else the launcher tells of it
    # of work, around and in it; none if not timed [s]
    quanta: tuple[float, ...] = field(default=(), metadata=NOT_SAVED)
    waiting: float | None = None  # share of it that others had the core of a rank [1]
    others: float | None = None  # cores that other programs used; None: unknown, as waiting [1]
    failure: str = ""  # why it is no run, which never counts; "" if it is one


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch(Generic[C]):
    """Cases of one layout that are run one after another by ranks that are started once."""

    number: int  # of this layout, from 1
    cases: tuple[C, ...]  # in their order, each as often as it is run
    expected: float | None  # time that it should take; None: nobody knows [s]
    purpose: Purpose = "comparison"
    turn: int = 1
    discarded: int = 0  # first runs of each case that are not reported
    patience: float = 0.0  # that it may wait for quiet processors, and repeat runs [s]
    quantum: float | None = None  # of work on quiet processors, of earlier launches [s]
    left: float = inf  # until it is ended because time is over [s]

    @property
    def layout(self) -> Hashable:
        """That of every case."""
        return self.cases[0].layout

    @property
    def distinct(self) -> tuple[C, ...]:
        """Every case once."""
        return tuple(dict.fromkeys(self.cases))

    @property
    def time_limit(self) -> float:
        """Time after which it is ended [s]."""
        own = DAY if self.expected is None else LIMIT[0] + LIMIT[1] * self.expected
        return min(own, self.left)

    def trial(self, case: C, seconds: float, observed: O, **facts: Any) -> Trial[C, O]:
        """Make the trial of a case of this launch; `facts` are other fields of it."""
        return Trial(
            case=case,
            purpose=self.purpose,
            turn=self.turn,
            launch=self.number,
            seconds=seconds,
            observed=observed,
            **facts,
        )
