"""What a fit leaves in a description: the table [fit], from which intervals are made.

`parcast fit` and `parcast validate` write them: how wrong the law was where it was compared with
runs of this program that it had not been fitted to. Predictions allow for them in place of what is
known of the law in general, see `parcast.laws.allowances`.

It holds sets of constants that explain the fitted runs about equally well. A set is drawn whole,
so that constants that only occur together stay together; those of a program and a machine
that one fit wrote go together as well. A constant whose amount is changed later leaves the sets,
and what is written then counts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BeforeValidator, Field, model_validator

from parcast.aliases import Array
from parcast.descriptions.amount import NORMAL_90, Amount
from parcast.descriptions.breakdown import Breakdown
from parcast.descriptions.description import Description, tables
from parcast.errors import ParameterError
from parcast.show.warning import Rank, RankedWarning
from parcast.units import shown
from parcast.words import listed, ranges_in_words

NODE, SWITCH, BUS = KINDS = ("one node", "a switched network", "a bus")
LEAST_OWN: Final = 0.05  # no law was better than that on programs it had not seen [1] [D]
FEWEST: Final = 3  # comparisons that an error is taken from [1] [D]


class OwnLawError(Description):
    """How wrong a law was on one kind of platform, compared with runs of the program."""

    law: str = Field(description="Name of the law.")
    platform: Literal["one node", "a switched network", "a bus"] = Field(
        description="Kind of platform of the runs."
    )
    error: Annotated[float, Field(gt=0, le=1e6)] = Field(
        description="Half-width h of a 90% interval: from T/(1 + h) to T (1 + h)."
    )
    runs: str = Field(description="What it was compared with, in words.")
    least: float = Field(ge=1, description="Fewest processors of these runs.")
    largest: float = Field(ge=1, description="Most processors of these runs.")

    @model_validator(mode="after")
    def _has_a_range(self) -> "OwnLawError":
        if self.least > self.largest:
            raise ParameterError(
                "least",
                must=f"have a least p of at most its largest, {self.largest:g}",
                got=f"{self.least:g}",
                hint="Measure the error again, or delete the table [[law_error]].",
            )
        return self

    def doublings(self, p: ArrayLike) -> Array:
        """How often p must be doubled or halved to reach that of the runs [1]."""
        p = np.asarray(p, dtype=np.float64)
        return np.log2(np.maximum(np.maximum(p / self.largest, self.least / p), 1.0))


def own_law_error(
    laws: Iterable[str], platform: str, errors: ArrayLike, p: ArrayLike, runs: str
) -> tuple[OwnLawError, ...]:
    """Give what some laws were wrong by together; nothing of too few comparisons.

    `errors` are logarithms of predicted over measured times, `p` the processors of the runs.
    The worst of a few errors is about their 90% quantile.
    """
    sizes = np.abs(np.asarray(errors, dtype=np.float64))
    if sizes.size < FEWEST:
        return ()
    worst = max(float(np.expm1(min(sizes.max(), np.log1p(1e6)))), LEAST_OWN)
    return tuple(
        OwnLawError(
            law=law,
            platform=platform,  # type: ignore[arg-type]  # one of `KINDS`, which the field checks
            error=float(f"{worst:.3g}"),
            runs=runs,
            least=float(np.min(p)),
            largest=float(np.max(p)),
        )
        for law in dict.fromkeys(laws)
    )


def validated_law_error(
    laws: Iterable[str],
    platform: str,
    errors: Sequence[float],
    axes: Mapping[str, Sequence[float]],
) -> tuple[OwnLawError, ...]:
    """Give what laws were wrong by together at runs that they did not know; as `own_law_error`.

    `errors` are predicted over measured times, less 1, and `axes` where they were.
    """
    if not errors:
        return ()
    runs = f"{len(errors)} validated predictions, {ranges_in_words(axes)}"
    return own_law_error(laws, platform, np.log1p(errors), axes["p"], runs)


def replaced(known: Iterable[OwnLawError], new: Iterable[OwnLawError]) -> tuple[OwnLawError, ...]:
    """Put new errors in place of known ones of the same law and kind of platform."""
    by_place = {(x.law, x.platform): x for x in (*known, *new)}
    return tuple(by_place.values())


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


def _places(given: Any) -> dict[str, tuple[float, ...]]:
    """Equally many numbers for each axis."""
    columns: list[Any] = list(given.values()) if isinstance(given, Mapping) else [None]
    wrong = [x for x in columns if not isinstance(x, list | tuple) or not all(map(_is_number, x))]
    if wrong or len({len(x) for x in columns}) > 1:
        raise ParameterError(
            "at",
            must="have equally many numbers for each axis",
            got=shown(repr(wrong[0] if wrong else columns)),
            hint="Fit again, or delete the table [fit.at].",
        )
    return {str(name): tuple(column) for name, column in given.items()}


def _is_number(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


class FittedConstant(Description):
    """One fitted constant: its amount as the fit wrote it, and its factor in every set."""

    name: str = Field(description="Name of the constant.")
    amount: str = Field(description="Its amount as the fit wrote it.")
    factors: Annotated[tuple[float, ...], BeforeValidator(_factors)] = Field(
        description="What it is times that amount, in each set."
    )


class SeenByP(Description):
    """A constant that was fitted as a formula of p: between which counts it was seen."""

    name: str = Field(description="Name of the constant.")
    amount: str = Field(description="Its amount as the fit wrote it.")
    least: float = Field(ge=1, description="Fewest processors at which it was seen.")
    largest: float = Field(ge=1, description="Most processors at which it was seen.")


class FitRecord(Description):
    """The fit that wrote a description."""

    runs: str = Field(description="The runs it was fitted to, in words.")
    at: Annotated[dict[str, tuple[int | float, ...]], BeforeValidator(_places)] = Field(
        default={},
        description="Where these runs were: the values of each axis, one for each configuration. "
        "Without them it is unknown which runs were used.",
    )
    program: str = Field(default="", description="The program of these runs.")
    machine: str = Field(default="", description="The machine of these runs.")
    key: str = Field(description="Which fit it was: the sets of one fit go together.")
    scatter: float = Field(
        ge=0, description="Half-width of the 90% interval of a run about the law, over its time."
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

    by_p: Annotated[tuple[SeenByP, ...], tables("by_p", "[[fit.by_p]]")] | None = Field(
        default=None, description="Constants that were fitted as formulas of p."
    )

    def is_fitted_at(self, axes: Mapping[str, Array], program: str, machine: str) -> Array | None:
        """Whether each configuration, (points,), was among the fitted ones; None: unknown.

        Runs of another program, or on another machine, were not.
        """
        if not self.at or not axes.keys() <= self.at.keys():
            return None
        names = [*axes]
        if (self.program, self.machine) != (program, machine):
            return np.zeros(axes[names[0]].shape, dtype=bool)
        known = {*zip(*(self.at[name] for name in names), strict=True)}
        asked = zip(*(np.asarray(axes[name], dtype=float).tolist() for name in names), strict=True)
        return np.array([place in known for place in asked])

    def beyond(self, amounts: Mapping[str, Amount], p: ArrayLike) -> Iterator[str]:
        """Say which formulas of p are used beyond the counts at which they were seen."""
        counts = np.asarray(p, dtype=np.float64)
        for x in self.by_p or ():
            outside = counts[(counts > x.largest) | ((counts < x.least) & (counts > 1))]
            if outside.size and x.name in amounts and amounts[x.name].text == x.amount:
                factor = np.maximum(outside / x.largest, x.least / outside)
                far = outside[np.argmax(factor)]
                yield RankedWarning(
                    f"{x.name} was seen at p = {x.least:g} to {x.largest:g}: what its formula "
                    f"gives at p = {far:g} was not measured. Measure runs there, and fit again.",
                    kind=f"formula of p of {x.name}",
                    rank=Rank.SERIOUS,
                    size=float(factor.max()),
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
