"""Arguments of the solvers, as arrays in their domain, or a refusal that names them."""

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.errors import as_numbers, require


def at_least(name: str, value: ArrayLike, least: int, *, hint: str) -> Array:
    """Finite numbers of at least `least`."""
    number = as_numbers(name, value, hint=hint, must="be a number")
    ok = (number >= least) & np.isfinite(number)
    require(name, number, ok, must=f"be at least {least}", hint=hint)
    return number


def whole(name: str, value: ArrayLike, least: int, *, hint: str) -> Array:
    """Whole numbers of at least `least`."""
    number = as_numbers(name, value, hint=hint, must="be a number")
    ok = (number >= least) & np.isfinite(number) & (number == np.floor(number))
    require(name, number, ok, must=f"be a whole number of at least {least}", hint=hint)
    return number


def customers_from_one(value: ArrayLike) -> Array:
    """Customers, at least 1, not only whole numbers."""
    hint = "Count the customers from 1."
    number = as_numbers("customers", value, hint=hint, must="be a number")
    ok = (number >= 1) & np.isfinite(number)
    require("customers", number, ok, must="be finite and at least 1", hint=hint)
    return number


def variation(
    name: str, value: ArrayLike, most: float, *, must: str = "", hint: str = ""
) -> Array:
    """Coefficients of variation, at least 0 and at most `most`. [1]."""
    cv = np.asarray(value, dtype=np.float64)
    must, hint = must or f"lie in [0, {most:g}]", hint or "Give standard deviation over mean."
    require(name, cv, (cv >= 0) & (cv <= most), must=must, hint=hint)
    return cv


def mean_time(name: str, value: ArrayLike) -> Array:
    """Mean times: finite and not negative. [s]."""
    hint = "Give it in seconds."
    time = as_numbers(name, value, hint=hint, must="be a number")
    ok = (time >= 0) & np.isfinite(time)
    require(name, time, ok, must="be a time of at least 0", hint=hint)
    return time


def require_time(name: str, value: Array, cycle: Array, *, must: str = "be above 0") -> None:
    """Refuse the `value` where a `cycle` takes no time."""
    require(name, value, cycle > 0, must=must, hint="A customer must spend time somewhere.")
