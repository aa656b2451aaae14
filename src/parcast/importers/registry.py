"""The formats that can be imported: which there are, which one a file is in, and its import.

A module is loaded when its format is named or a file has to be recognised.

What an import gives: measurements with what a reader must know, and what a format is.
"""

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any, Final, Literal

from parcast.errors import ParameterError
from parcast.files.decoding import name_of
from parcast.files.faults import AnyPath, Faults, as_paths
from parcast.importers.axes import Constants, checked_constants, named_axes
from parcast.importers.content import HEAD, refuse_packed
from parcast.places import load
from parcast.timings.measurements import Measurements
from parcast.units import shown


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """Measurements that another tool wrote down, and what a reader of them must know."""

    measurements: Measurements
    notes: tuple[str, ...] = ()  # full sentences, such as what was left out


@dataclass(frozen=True, kw_only=True, slots=True)
class Format:
    """One format that can be imported."""

    name: str  # as the command line calls it
    title: str  # as a person does
    module: str  # loaded when it is needed
    suffixes: tuple[str, ...]  # usual endings of its files
    makes: Literal["timings", "machine"] = "timings"
    extra: str | None = None  # the extra of parcast that it needs, if any
    extra_for: str = ""  # what of it needs the extra; "" for all


_HERE = "parcast.importers"
_OF_MACHINES = "parcast.calibration.benchmarks"

FORMATS: Final = (
    Format(
        name="extrap",
        title="Extra-P text, JSON or JSON Lines",
        module=f"{_HERE}.extrap",
        suffixes=(".txt", ".json", ".jsonl"),
    ),
    Format(
        name="slurm",
        title="Slurm sacct -P or --json",
        module=f"{_HERE}.slurm",
        suffixes=(".txt", ".json"),
    ),
    Format(
        name="hyperfine",
        title="hyperfine JSON",
        module=f"{_HERE}.hyperfine",
        suffixes=(".json",),
    ),
    Format(
        name="google-benchmark",
        title="Google Benchmark JSON",
        module=f"{_HERE}.google_benchmark",
        suffixes=(".json",),
    ),
    Format(
        name="caliper",
        title="Caliper .cali or JSON",
        module=f"{_HERE}.caliper",
        suffixes=(".cali", ".json"),
        extra="caliper",
        extra_for=".cali",
    ),
    Format(
        name="hatchet",
        title="Hatchet or Thicket JSON",
        module=f"{_HERE}.hatchet",
        suffixes=(".json",),
    ),
    Format(
        name="cubex",
        title="Score-P or Scalasca .cubex",
        module=f"{_HERE}.cubex",
        suffixes=(".cubex",),
        extra="cubex",
    ),
    Format(
        name="darshan",
        title="Darshan logs, or text, JSON, CSV",
        module=f"{_HERE}.darshan",
        suffixes=(".darshan", ".txt", ".json", ".csv"),
        extra="darshan",
        extra_for=".darshan",
    ),
    Format(
        name="osu",
        title="OSU Micro-Benchmarks",
        module=f"{_OF_MACHINES}.osu",
        suffixes=(".txt",),
        makes="machine",
    ),
    Format(
        name="imb",
        title="Intel MPI Benchmarks",
        module=f"{_OF_MACHINES}.imb",
        suffixes=(".txt",),
        makes="machine",
    ),
    Format(
        name="ior",
        title="IOR text, JSON or CSV",
        module=f"{_OF_MACHINES}.ior",
        suffixes=(".txt", ".json", ".csv"),
        makes="machine",
    ),
)


def is_there(known: Format) -> bool:
    """Tell whether this version of parcast can import a format."""
    return find_spec(known.module) is not None


def format_named(name: str) -> Format:
    """Find a format by its name.

    Raises
    ------
    ParameterError
        If there is no such format.
    """
    names = {known.name: known for known in FORMATS if is_there(known)}
    if name not in names:
        near = difflib.get_close_matches(str(name), names, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"There is {', '.join(names)}."
        raise ParameterError(
            "format", must="be one that is known", got=shown(repr(name)), hint=hint
        )
    return names[name]


def recognised(path: str | os.PathLike[str]) -> Format | None:
    """Tell the format of a file or folder from how it begins.

    Parameters
    ----------
    path : path
        What to look at; the first 64 KiB of a file are read.

    Returns
    -------
    Format or None
        None where no format is certain: of a table of measurements as CSV, of a file that
        cannot be read, and where several formats could be meant.

    Examples
    --------
    >>> recognised("examples/finite_difference/times.csv") is None
    True
    """
    head = b""
    if os.path.isfile(path):  # of a pipe nothing may be taken away
        try:
            with open(path, "rb") as stream:
                head = stream.read(HEAD)
        except OSError:
            return None
    elif not os.path.isdir(path):
        return None
    return format_of_beginning(head, Path(path))


def format_of_beginning(head: bytes, path: Path) -> Format | None:
    """Tell a format from how a file begins.

    Parameters
    ----------
    head : bytes
        The first 64 KiB; none of a folder.
    path : Path
        Where it stands.

    Returns
    -------
    Format or None
        As of `recognised`.
    """
    if _is_our_table(head):
        return None
    found = [x for x in FORMATS if is_there(x) and load(x.module).recognises(head, path)]
    return found[0] if len(found) == 1 else None


def import_timings(
    paths: AnyPath | Sequence[AnyPath],
    format: str | None = None,
    *,
    metric: str | None = None,
    rename: Mapping[str, str] | None = None,
    constants: Constants | None = None,
) -> Imported:
    """Read timings that another tool wrote.

    Parameters
    ----------
    paths : path or sequence of path
        The files, all in one format; their rows are joined.
    format : str, optional
        Name of the format: "extrap", "slurm", "hyperfine" ... Default: recognised.
    metric : str, optional
        The metric that is the time, where there are several.
    rename : mapping of str to str, optional
        New names of parameters: ``{"processes": "p"}``.
    constants : mapping, optional
        Axes that the files do not tell, ``{"p": 64}``, or a label, ``{"machine": "T3E"}``.

    Returns
    -------
    Imported
        The measurements, and notes on what was left out or taken for granted.

    Raises
    ------
    ParameterError
        If there is no such format, it cannot be recognised, it describes machines, or what is
        to be renamed is not there.
    FileProblems
        If a file is not in the format, or nothing tells the processors.
    ModuleNotFoundError
        If the format needs an extra that is not installed.

    Examples
    --------
    >>> found = import_timings("examples/imports/weather.txt")
    >>> found.measurements
    Measurements(10 rows: p 1 to 16, callpath 2 names, time 3.02 to 61.4 s)
    """
    files = _files(paths)
    known = format_named(format) if format is not None else recognised_format(files)
    if known.makes != "timings":
        raise ParameterError(
            "format",
            must="be one of timings",
            got=f"{known.name}, which tells of a machine",
            hint=f"Import it: parcast import {known.name} FILES -o machine.toml",
        )
    read = load(known.module).read
    asked = {"metric": metric, "rename": rename or {}, "constants": constants or {}}
    declared = signature(read).parameters
    if metric is not None and "metric" not in declared:
        raise ParameterError(
            "metric", must=f"not be named: {known.name} has one only", hint="Leave it out."
        )
    told: Imported = read(files, **{x: y for x, y in asked.items() if x in declared})
    if "rename" in declared or not (rename or constants):
        return told
    return _with_axes(told, Faults(name_of(files[0])), rename or {}, constants or {})


def import_machine(paths: Sequence[str | os.PathLike[str]], format: str) -> Any:
    """Read what benchmarks told of a machine.

    Parameters
    ----------
    paths : sequence of path
        The files, all in one format.
    format : str
        Name of the format: "osu", "imb" or "ior".

    Returns
    -------
    MachineFigures
        Its `to_toml()` is a description, its `notes` what a reader must know.

    Raises
    ------
    ParameterError
        If there is no such format.
    FileProblems
        If a file is not in the format.
    """
    return load(format_named(format).module).read(_files(paths))


def recognised_format(paths: Sequence[str | os.PathLike[str]]) -> Format:
    """Tell the one format of some files.

    Raises
    ------
    ParameterError
        If it is not certain, or they are in several formats.
    FileProblems
        If a file is not there, empty, packed, or a table of measurements.
    """
    found: dict[str, Format] = {}
    for path in paths:
        known = recognised(path)
        if known is None:
            _refuse_unfit(path)
            names = ", ".join(x.name for x in FORMATS if is_there(x))
            raise ParameterError(
                "format",
                must=f"be named for {name_of(path)}, which is not recognised",
                hint=f"There is {names}.",
            )
        found[known.name] = known
    if len(found) > 1:
        raise ParameterError(
            "files", must="be in one format", got=", ".join(found), hint="Import them one by one."
        )
    return next(iter(found.values()))


def _refuse_unfit(path: str | os.PathLike[str]) -> None:
    """Refuse a path that no file can be read from, and a file that no format could be in."""
    from parcast.files.decoding import opened

    if os.path.isdir(path):
        return
    with opened(Path(path)):
        pass
    if not os.path.isfile(path):
        return
    faults = Faults(name_of(path))
    with open(path, "rb") as stream:
        head = stream.read(HEAD)
    if not head.strip():
        faults.refuse("must hold something, got an empty file. Write it again.")
    refuse_packed(head, faults)
    if _is_our_table(head):
        faults.refuse(
            "must be of another tool, got a table of measurements. Give it to parcast forecast or "
            "fit as it is."
        )


def _is_our_table(head: bytes) -> bool:
    """Tell a table of measurements by its header, which needs no module to be loaded."""
    lines = (line.strip() for line in head.removeprefix(b"\xef\xbb\xbf").splitlines())
    header = next((line for line in lines if line.strip(b", \t") and line[:1] != b"#"), b"")
    titles = {title.strip(b' "') for title in header.split(b",")}
    return len(titles) > 1 and b"p" in titles and header[:1] not in b"{["


def _files(paths: AnyPath | Sequence[AnyPath]) -> list[Path]:
    """Take the files to import, at least one."""
    hint = "Name the files to import."
    try:
        return [Path(path) for path in as_paths(paths, hint=hint)]
    except TypeError:
        raise ParameterError(
            "paths", must="be names of files", got=f"{paths!r:.60}", hint=hint
        ) from None


def _with_axes(
    told: Imported, faults: Faults, rename: Mapping[str, str], constants: Constants
) -> Imported:
    """Rename and add axes after the fact, of formats that do not do so themselves."""
    measured = told.measurements
    fixed = checked_constants(constants)
    names, notes = named_axes(
        list(measured.axes), faults, labels=list(measured.labels), rename=rename, constants=fixed
    )
    renamed = dict(zip(measured.axes, names, strict=True))
    columns: dict[str, Any] = {renamed.get(x, x): y for x, y in measured.columns.items()}
    return Imported(measurements=Measurements(**columns | fixed), notes=(*told.notes, *notes))
