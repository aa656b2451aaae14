"""Random times of mean 1 for the simulation, and of the slowest of several.

A law is given as one of

- ``"none"``: all times the same; ``"exponential"``;
- a number: the coefficient of variation of a gamma law (0 is "none", 1 exponential);
- an array: measured times, scaled to mean 1, drawn with replacement;
- a function of a `numpy.random.Generator` and a size that returns that many times of mean 1.

The largest of c independent times is drawn at once where the law allows it, by inversion: the
quantile at V^(1/c), V uniform. Elsewhere it is the largest of c draws.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from parcast.errors import require
from parcast.queueing.erlang import Array

Sampler: TypeAlias = Callable[[np.random.Generator, int], Array]
Law: TypeAlias = str | float | NDArray[np.float64] | Sampler

LARGEST_CV = 100.0
BLOCK = 2**20  # draws held at once
HINT = 'Give "none", "exponential", a coefficient of variation, measured times or a function.'


def sampler(name: str, law: Law, *, largest_of: int = 1) -> Sampler:
    """Function that draws times of a law, or the largest of several of them.

    Parameters
    ----------
    name : str
        What messages call the law.
    law : str, float, array_like of shape (n,), or callable
        See the top of this module. A function must be importable by name if the simulation is to
        run in other processes.
    largest_of : int, default 1
        How many are drawn for the largest to be taken, at least 1. [1]

    Returns
    -------
    callable
        Of a `numpy.random.Generator` and a size; returns an array of that shape, in mean times of
        one draw. [1]

    Raises
    ------
    ParameterError
        If `law` is none of these; later, if a function returns something else than times.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> float(sampler("cpu_law", "exponential")(rng, 10**5).mean().round(2))
    1.0
    >>> float(sampler("cpu_law", "exponential", largest_of=4)(rng, 10**5).mean().round(1))
    2.1
    """
    if callable(law):
        return partial(_largest_of_draws, partial(_checked, name, law), largest_of)
    if isinstance(law, str):
        require(name, named(law), law in {"none", "exponential"}, must="be a known law", hint=HINT)
        return partial(_exponential, largest_of) if law == "exponential" else _ones
    values = np.asarray(law, dtype=np.float64)
    if values.ndim:
        return partial(_resampled, _scaled(name, values), largest_of)
    ok = (values >= 0) & (values <= LARGEST_CV)
    require(name, values, ok, must=f"be a cv in [0, {LARGEST_CV:g}]", hint=HINT)
    cv = float(values)
    return partial(_largest_of_draws, partial(_gamma, cv), largest_of) if cv > 0 else _ones


def named(choice: str) -> NDArray[np.object_]:
    """A word that messages print as it was given."""
    return np.asarray(choice, dtype=object)


def _scaled(name: str, times: Array) -> Array:
    """Measured times in rising order, over their mean."""
    ok = (times >= 0) & np.isfinite(times)
    hint = "Leave failed runs out."
    require(name, times, ok, must="hold only times of at least 0", hint=hint)
    total = times.sum() if times.size else 0.0
    require(name, total, total > 0, must="hold times whose mean is above 0", hint=hint)
    return np.sort(times, axis=None) * (times.size / total)


def _ones(rng: np.random.Generator, size: int) -> Array:  # noqa: ARG001 - nothing is random
    return np.ones(size)


def _exponential(c: int, rng: np.random.Generator, size: int) -> Array:
    if c == 1:
        return rng.standard_exponential(size)
    # P(largest <= t) = (1 - exp(-t))^c; -ln V is exponential, which never underflows
    below = -np.expm1(-rng.standard_exponential(size) / c)
    return np.asarray(-np.log(below))


def _gamma(cv: float, rng: np.random.Generator, size: int) -> Array:
    return np.asarray(rng.standard_gamma(cv**-2.0, size) * cv**2.0)


def _resampled(times: Array, c: int, rng: np.random.Generator, size: int) -> Array:
    quantile = rng.random(size) ** (1.0 / c)
    place = np.minimum((quantile * times.size).astype(np.intp), times.size - 1)
    return np.asarray(times[place])


def _checked(name: str, law: Sampler, rng: np.random.Generator, size: int) -> Array:
    """What the user's function drew, if it is what was asked for."""
    times = np.asarray(law(rng, size), dtype=np.float64)
    hint = "Return as many times as asked for."
    require(name, times.size, times.shape == (size,), must=f"draw {size} times", hint=hint)
    ok = (times >= 0) & np.isfinite(times)
    require(name, times, ok, must="draw times of at least 0", hint="Their mean must be 1.")
    return times


def _largest_of_draws(draw: Sampler, c: int, rng: np.random.Generator, size: int) -> Array:
    if c == 1:
        return draw(rng, size)
    largest = np.empty(size)
    step = max(1, BLOCK // c)
    for start in range(0, size, step):
        part = largest[start : start + step]
        draw(rng, part.size * c).reshape(-1, c).max(axis=1, out=part)
    return largest
