"""What parcast needs that may be missing: the packages of its extras, and a system that can.

Each extra stands here once, with its packages and what it is for; a test compares them with
`pyproject.toml`.
"""

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Final, NamedTuple

from parcast.errors import ParcastError, RunFailed


class Extra(NamedTuple):
    """Packages that are installed only where they are asked for."""

    purpose: str
    packages: tuple[str, ...]  # by the names they are imported by


EXTRAS: Final = {
    "plot": Extra("pictures as .png and .pdf, or in Python", ("matplotlib",)),
    "mpi": Extra("run, calibrate and validate on MPI ranks", ("mpi4py", "cloudpickle")),
    "features": Extra(
        "noun phrases and search of documents, .zst files", ("nltk", "textblob", "pyarrow")
    ),
    "arrays": Extra("arrays of parallel programs on disk", ("google_crc32c", "zstandard")),
    "web": Extra(
        "what-if questions in the browser", ("jinja2", "python_multipart", "starlette", "uvicorn")
    ),
    "caliper": Extra("Caliper's .cali files", ("caliperreader",)),
    "cubex": Extra("Score-P's .cubex files", ("pycubexr",)),
    "darshan": Extra("Darshan's logs", ("darshan",)),
    "parquet": Extra("tables in Parquet, Arrow and Feather", ("pyarrow",)),
}


class MissingPackage(ParcastError, ModuleNotFoundError):  # noqa: N818 - says what is missing
    """A package of an extra is not installed; `name` says which."""


def install(extra: str) -> str:
    """Command that installs an extra.

    >>> print(install("plot"))
    pip install "parcast[plot]"
    """
    if extra not in EXTRAS:
        raise KeyError(extra)
    return f'pip install "parcast[{extra}]"'


def missing_package(needs: str, package: str, extra: str) -> MissingPackage:
    """Say what needs a package that is not there, and how it is installed.

    >>> print(missing_package("Figures need", "matplotlib", "plot"))
    Figures need matplotlib. Install with: pip install "parcast[plot]"
    """
    text = f"{needs} {package}. Install with: {install(extra)}"
    return MissingPackage(text, name=package.replace("-", "_"))


def missing_extras() -> Iterator[str]:
    """Name the extras of which a package is not installed."""
    for name, extra in EXTRAS.items():
        if any(find_spec(package) is None for package in extra.packages):
            yield name


def require_unix(what: str, *, is_linux: bool = False) -> None:
    """Refuse what needs the processes, signals and locks of Unix, or of Linux, where it has none.

    `what` begins the message: "Measuring a program needs".
    """
    if is_linux and not sys.platform.startswith("linux"):
        kind = "Linux"
    elif not hasattr(os, "fork"):
        kind = "Linux, macOS or another Unix"
    else:
        return
    raise RunFailed(
        f"{what} {kind}, but this is {sys.platform}. Run it in a virtual machine, a container, or "
        "on Windows in WSL. Forecasts, predictions, plans and reports can be made here."
    )
