"""Types of elements: their names in Zarr v3, and how their fill values are written as JSON.

Zarr v3 defines booleans, integers, floats and complex numbers; everything else is an extension
that not every reader has, and is refused by name.
"""

import math
from typing import Any, Final

import numpy as np

from parcast.errors import ParameterError

NAMES: Final = (
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
INSTEAD: Final = {  # by the kind of a NumPy type
    "O": "Python objects",
    "M": "datetime64",
    "m": "timedelta64",
    "U": "strings",
    "S": "strings of bytes",
    "T": "strings",
    "V": "records",
    "g": "longdouble",
    "G": "clongdouble",
}
CONVERT: Final = {
    "M": 'Write array.astype("datetime64[s]").astype("int64") with the attribute '
    '{"units": "seconds since 1970-01-01"}, which xarray decodes.',
    "m": 'Write array.astype("timedelta64[s]").astype("int64") with the attribute '
    '{"units": "seconds"}.',
    "U": "Write them as attributes, or as integer codes.",
    "T": "Write them as attributes, or as integer codes.",
    "S": 'Write array.view("uint8"), or names as attributes.',
    "V": "Write each field as an array of its own.",
    "O": "Convert it: array.astype(float).",
    "g": 'Convert it: array.astype("float64").',
    "G": 'Convert it: array.astype("complex128").',
}
SPECIAL: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def stored_type(dtype: Any, *, name: str = "dtype") -> "np.dtype[Any]":
    """Give the type in which elements are stored, little-endian; refuse one that cannot be."""
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        raise ParameterError(
            name, must="be a NumPy type", got=f"{dtype!r:.60}", hint='Example: "float64".'
        ) from None
    key = wanted.char if wanted.char in "gG" else wanted.kind
    if wanted.kind in "biufc" and wanted.name in NAMES:
        little: np.dtype[Any] = wanted.newbyteorder("<")
        return little
    raise ParameterError(
        name,
        must="be bool, an integer, float16 to float64, complex64 or complex128",
        got=f"{INSTEAD.get(key, 'another type')} ({wanted})",
        hint=CONVERT.get(key, 'Convert it: array.astype("float64").'),
    )


def fill_to_json(value: Any, dtype: "np.dtype[Any]") -> Any:
    """Write a fill value; a NaN with a payload of its own as its bits.

    >>> fill_to_json(float("nan"), np.dtype("f4")), fill_to_json(1 - 2j, np.dtype("c8"))
    ('NaN', [1.0, -2.0])
    """
    scalar = np.asarray(value, dtype=dtype)[()]
    if dtype.kind == "b":
        return bool(scalar)
    if dtype.kind in "iu":
        return int(scalar)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        return [_float_to_json(x, part) for x in (scalar.real, scalar.imag)]
    return _float_to_json(scalar, dtype)


def _float_to_json(scalar: Any, dtype: "np.dtype[Any]") -> Any:
    """Write one float."""
    if np.isfinite(scalar):
        return float(scalar)
    if np.isinf(scalar):
        return "Infinity" if scalar > 0 else "-Infinity"
    bits = np.asarray(scalar, dtype=dtype.newbyteorder(">")).tobytes()
    usual = np.asarray(math.nan, dtype=dtype.newbyteorder(">")).tobytes()
    return "NaN" if bits == usual else f"0x{bits.hex()}"


def fill_from_json(value: Any, dtype: "np.dtype[Any]") -> Any:
    """Read a fill value; ValueError where it is none of the type."""
    if dtype.kind == "b" and isinstance(value, bool):
        return np.bool_(value)
    if dtype.kind in "biu":
        return _integer_from_json(value, dtype)
    if dtype.kind == "c":
        if not (isinstance(value, list) and len(value) == 2):
            raise ValueError(f"{value!r} is no {dtype}")
        part = np.dtype(f"f{dtype.itemsize // 2}")
        return np.array([_float_from_json(x, part) for x in value], part).view(dtype)[0]
    return _float_from_json(value, dtype)


def _integer_from_json(value: Any, dtype: "np.dtype[Any]") -> Any:
    """Read one integer."""
    if dtype.kind in "iu" and type(value) is int:  # which no bool is
        info = np.iinfo(dtype)
        if info.min <= value <= info.max:
            return dtype.type(value)
    raise ValueError(f"{value!r} is no {dtype}")


def _float_from_json(value: Any, dtype: "np.dtype[Any]") -> Any:
    """Read one float: a number, the name of a special one, or its bits."""
    if isinstance(value, str) and value.startswith("0x"):
        bits = bytes.fromhex(value[2:])
        if len(bits) != dtype.itemsize:
            raise ValueError(f"{value!r} is no {dtype}")
        return np.frombuffer(bits, dtype.newbyteorder(">")).astype(dtype)[0]
    if isinstance(value, str) and value in SPECIAL:
        return dtype.type(SPECIAL[value])
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} is no {dtype}")  # noqa: TRY004 - of a file, not of a caller
    return dtype.type(value)
