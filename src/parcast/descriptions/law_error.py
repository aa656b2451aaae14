"""What a program's description keeps of its own law errors: the tables [[law_error]].

`parcast fit` and `parcast validate` write them: how wrong the law was where it was compared with
runs of this program that it had not been fitted to. Predictions allow for them in place of what is
known of the law in general, see `parcast.laws.allowances`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, model_validator

from parcast.aliases import Array
from parcast.descriptions.description import Description
from parcast.errors import ParameterError
from parcast.words import ranges_in_words

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
        description="Half-width h of a 90 % interval: from T/(1 + h) to T (1 + h)."
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
    The worst of a few errors is about their 90 % quantile.
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
    law: str, platform: str, errors: Sequence[float], axes: Mapping[str, Sequence[float]]
) -> tuple[OwnLawError, ...]:
    """Give what a law was wrong by in predictions made before the runs; as `own_law_error`.

    `errors` are predicted over measured times, less 1, and `axes` where they were.
    """
    if not errors:
        return ()
    runs = f"{len(errors)} validated predictions, {ranges_in_words(axes)}"
    return own_law_error([law], platform, np.log1p(errors), axes["p"], runs)


def replaced(known: Iterable[OwnLawError], new: Iterable[OwnLawError]) -> tuple[OwnLawError, ...]:
    """Put new errors in place of known ones of the same law and kind of platform."""
    by_place = {(x.law, x.platform): x for x in (*known, *new)}
    return tuple(by_place.values())
