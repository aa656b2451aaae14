"""What a fit leaves in a description: the table [fit], from which intervals are made.

It holds sets of constants that explain the fitted runs about equally well. A set is drawn whole,
so that constants that only occur together stay together; those of a program and a machine
that one fit wrote go together as well. A constant whose amount is changed later leaves the sets,
and what is written then counts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BeforeValidator, Field

from parcast.aliases import Array
from parcast.descriptions.amount import NORMAL_90, Amount
from parcast.descriptions.breakdown import Breakdown
from parcast.descriptions.description import Description, tables
from parcast.errors import ParameterError
from parcast.show.warning import Rank, RankedWarning
from parcast.units import shown
from parcast.words import listed


def _factors(given: Any) -> tuple[float, ...]:
    """Numbers above 0."""
    is_list = isinstance(given, list | tuple) and len(given) > 0
    wrong = [x for x in given if not _is_factor(x)] if is_list else [given]
    if wrong:
        raise ParameterError(
            "factors",
            must="be a list of numbers above 0",
            got=shown(repr(wrong[0])),
            hint="Fit again, or delete the table [fit].",
        )
    return tuple(map(float, given))


def _is_factor(given: object) -> bool:
    """Whether it is a finite number above 0."""
    return isinstance(given, int | float) and not isinstance(given, bool) and 0 < given < np.inf


class FittedConstant(Description):
    """One fitted constant: its amount as the fit wrote it, and its factor in every set."""

    name: str = Field(description="Name of the constant.")
    amount: str = Field(description="Its amount as the fit wrote it.")
    factors: Annotated[tuple[float, ...], BeforeValidator(_factors)] = Field(
        description="What it is times that amount, in each set."
    )


class FitRecord(Description):
    """The fit that wrote a description."""

    runs: str = Field(description="The runs it was fitted to, in words.")
    key: str = Field(description="Which fit it was: the sets of one fit go together.")
    scatter: float = Field(
        ge=0, description="Half-width of the 90 % interval of a run about the law, over its time."
    )
    largest: float = Field(ge=1, description="Most processors of the runs.")
    growth: float = Field(
        ge=0, description="What the scatter gains with each doubling of processors beyond those."
    )
    unseen: float = Field(
        default=0.0,
        ge=0,
        description="Standard deviation of the logarithm of all but computing, for each doubling "
        "of processors beyond the runs, where these do not show how it grows.",
    )
    converged: bool = Field(default=True, description="Whether the fit has converged.")
    undetermined: Annotated[tuple[str, ...], BeforeValidator(tuple)] = Field(
        default=(), description="Constants that the runs do not determine."
    )
    constant: Annotated[tuple[FittedConstant, ...], tables("constant", "[[fit.constant]]")] = (
        Field(description="The fitted constants.")
    )

    def factors(self, amounts: Mapping[str, Amount], samples: int, seed: int) -> dict[str, Array]:
        """Factors of the amounts that are still as the fit wrote them, (samples,) each. [1].

        Sets come in an order that only the fit and the seed decide.
        """
        order = np.random.default_rng([seed, crc32(self.key.encode())]).permutation(samples)
        return {
            x.name: np.asarray(x.factors)[order % len(x.factors)]
            for x in self.constant
            if x.name in amounts and amounts[x.name].text == x.amount
        }

    def leaves_open(self, amount: Amount, name: str) -> bool:
        """Whether the runs did not determine an amount that is still as the fit wrote it."""
        texts = {x.name: x.amount for x in self.constant}
        return name in self.undetermined and amount.text == texts.get(name)

    def warnings(self) -> Iterator[str]:
        """Say what is to be doubted of every answer from this description."""
        if not self.converged:
            yield RankedWarning(
                f"The fit to {self.runs} has not converged: its constants may be wrong. Fit again "
                "with more starts.",
                rank=Rank.SERIOUS,
            )
        if self.undetermined:
            yield RankedWarning(
                f"Fitted to {self.runs}, which do not determine {listed(self.undetermined)}: the "
                "interval allows for what that leaves open. Measure more runs, or write what you "
                "know of them.",
                rank=Rank.SERIOUS,
            )


def warnings_of_fits(records: Iterable[FitRecord | None]) -> Iterator[str]:
    """Give the warnings of the fits that wrote some descriptions, each once."""
    yield from dict.fromkeys(text for x in records if x for text in x.warnings())


def departing(
    parts: Breakdown, records: Sequence[FitRecord], p: ArrayLike, normal: Sequence[Array]
) -> Array:
    """Times of runs about the law that was fitted, at each p [s].

    `normal` has two normal numbers for each run: for its scatter, and for how all but computing
    grows beyond the fitted runs, where they do not show it.
    """
    scatter, unseen = np.zeros(np.shape(p)), np.zeros(np.shape(p))
    for record in records:
        doublings = np.log2(np.maximum(np.asarray(p, dtype=np.float64) / record.largest, 1.0))
        own = np.hypot(np.log1p(record.scatter) / NORMAL_90, record.growth * doublings)
        scatter = np.maximum(scatter, own)
        unseen = np.maximum(unseen, record.unseen * doublings)
    rest = parts.time - parts.compute
    return np.asarray(
        (parts.compute + rest * np.exp(normal[1] * unseen)) * np.exp(normal[0] * scatter)
    )
