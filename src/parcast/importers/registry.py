"""The formats that can be imported: which there are, which one a file is in, and its import.

A format is a module with a `Format`, and a line of `FORMATS`; other packages add theirs through
entry points of the group `parcast.importers`. A module is loaded when its format is named or a
file has to be recognised.
"""

from __future__ import annotations

import difflib
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, Protocol, runtime_checkable

from parcast.advice import Command, File, ours
from parcast.errors import Argument, FileProblems, NoRunEnded, ParameterError, Text, parts
from parcast.files.copies import readable_again
from parcast.files.decoding import UTF8_MARK, is_text, name_of, opened
from parcast.files.faults import AnyPath, Faults, as_paths
from parcast.importers.axes import Constants
from parcast.importers.content import HEAD, head_of, refuse_packed
from parcast.importers.counts import Patterns
from parcast.importers.runs import Imported, Runs
from parcast.places import PluginFaultError, PluginWarning, load, plugins
from parcast.timings.measurements import Measurements, MeasurementsLike
from parcast.timings.notes import warn_reader
from parcast.timings.tables.durations import compiled
from parcast.timings.tables.files import read_measurements
from parcast.timings.tables.options import AS_IT_IS, TableOptions
from parcast.units import shown
from parcast.words import listed

GROUP: Final = "parcast.importers"  # of entry points
FORMATS: Final = {  # each name and the place of its Format
    "extrap": "parcast.importers.extrap:FORMAT",
    "slurm": "parcast.importers.slurm:FORMAT",
    "hyperfine": "parcast.importers.hyperfine:FORMAT",
    "google-benchmark": "parcast.importers.google_benchmark:FORMAT",
    "pyperf": "parcast.importers.pyperf:FORMAT",
    "pytest-benchmark": "parcast.importers.pytest_benchmark:FORMAT",
    "reframe": "parcast.importers.reframe:FORMAT",
    "talp": "parcast.importers.talp:FORMAT",
    "caliper": "parcast.importers.caliper:FORMAT",
    "hatchet": "parcast.importers.hatchet:FORMAT",
    "cubex": "parcast.importers.cubex:FORMAT",
    "darshan": "parcast.importers.darshan:FORMAT",
    "parquet": "parcast.importers.arrow_tables:FORMAT",
    "lammps": "parcast.importers.lammps:FORMAT",
    "gromacs": "parcast.importers.gromacs:FORMAT",
    "gnu-time": "parcast.importers.gnu_time:FORMAT",
    "parcast": "parcast.importers.own_result:FORMAT",
    "log": "parcast.importers.own_log:FORMAT",
    "table": "parcast.importers.joined_tables:FORMAT",
    "osu": "parcast.calibration.benchmarks.osu:FORMAT",
    "imb": "parcast.calibration.benchmarks.imb:FORMAT",
    "ior": "parcast.calibration.benchmarks.ior:FORMAT",
}
JSON: Final = re.compile(rb'\s*(?:\{\s*["}]|\[\s*(?:[{"\]0-9-]|\[\s*[\[{"\]0-9-]))')
KEY: Final = re.compile(rb'"([^"\\]{1,40})"\s*:')
KEYS_IN: Final = 4096  # bytes in which keys are looked for, to be named
MOST_NAMED: Final = 4  # of them
OWN_LOG: Final = "log"  # the format that time_pattern is for
TABLES: Final = "table"  # that of several files which no format recognises


@runtime_checkable
class BenchmarkFigures(Protocol):
    """What benchmarks tell of a machine."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know, in full sentences."""

    def to_toml(self) -> str:
        """Text of a machine description."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Format:
    """What one format says of itself, and how it is read: as timings or as a machine."""

    title: str  # as a person calls it
    recognises: Callable[[bytes, Path], bool]  # by the first 64 KiB of a file, none of a folder
    timings: Callable[[Runs, str | None], Imported] | None = None  # given files and --metric
    machine: Callable[..., BenchmarkFigures] | None = (
        None  # given files, and `memory` if it `has_memories`
    )
    has_memories: bool = False  # whether results may be of the memory of hosts or of devices
    member: str = ""  # the file that is meant where a folder is given
    extra: str | None = None  # the extra of parcast that it needs, if any
    extra_for: str = ""  # what of it needs the extra; "" for all
    name: str = ""  # as the command line calls it: that in the registry

    def __post_init__(self) -> None:
        """Refuse a format that reads nothing."""
        if self.timings is None and self.machine is None:
            raise ParameterError(
                "Format",
                must="have timings or machine",
                got="neither",
                hint="Give the function that reads the files.",
            )

    @property
    def makes(self) -> Literal["timings", "machine"]:
        """What an import gives."""
        return "timings" if self.timings is not None else "machine"


def formats() -> dict[str, Format]:
    """All formats by their names, those of other packages last."""
    return {name: _built_in(name) for name in FORMATS} | _of_plugins()


def format_named(name: str) -> Format:
    """Find a format by its name, or refuse it with the nearest there is."""
    if name in FORMATS:
        return _built_in(name)
    others = _of_plugins()
    if name in others:
        return others[name]
    names = [*FORMATS, *others]
    near = difflib.get_close_matches(str(name), names, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Choose from {', '.join(names)}."
    raise ParameterError("format", must="be a known format", got=shown(repr(name)), hint=hint)


def _built_in(name: str) -> Format:
    known: Format = load(FORMATS[name])
    return replace(known, name=name)


def _of_plugins() -> dict[str, Format]:
    """Formats of other packages; what is broken is ignored with a warning."""
    loaded = plugins(
        GROUP,
        taken=FORMATS,
        is_one=lambda _, x: isinstance(x, Format),
        what="a parcast.importers.registry.Format",
    )
    return {name: replace(known, name=name) for name, known in loaded.items()}


def recognised(path: str | os.PathLike[str]) -> Format | None:
    """Tell the format of a file or folder from how it begins.

    None where no format is certain: of a table of measurements as CSV, of a file that cannot be
    read, and where several formats could be meant.
    """
    return _only(_likely(path))


def format_of_beginning(head: bytes, path: Path) -> Format | None:
    """Tell a format as `recognised` does, from the first 64 KiB of a file at `path`."""
    return _only(_likely_by(head, path))


def _only(likely: Sequence[Format]) -> Format | None:
    return likely[0] if len(likely) == 1 else None


def _likely(path: str | os.PathLike[str]) -> list[Format]:
    """Give every format that a file or folder could be in."""
    head = b"" if os.path.isdir(path) else head_of(path)
    return [] if head is None else _likely_by(head, Path(path))


def _likely_by(head: bytes, path: Path) -> list[Format]:
    """Give every format whose files begin so."""
    if _is_our_table(head):
        return []
    start = head.removeprefix(UTF8_MARK)
    return [known for known in formats().values() if _recognises(known, start, path)]


def _recognises(known: Format, start: bytes, path: Path) -> bool:
    """Ask a format whether a file is its own; one of another package that fails says no."""
    try:
        return bool(known.recognises(start, path))
    except Exception as error:
        if known.name in FORMATS:
            raise
        why = shown(f"{type(error).__name__}: {error}")
        remark = f'the plugin "{known.name}" in {GROUP} is ignored: recognises failed, {why}.'
        warnings.warn(remark, PluginWarning, stacklevel=2)
        return False


def as_measurements(given: MeasurementsLike) -> Measurements:
    """Take measurements as they are, and read a table, or a file by its path.

    A file may be a table as CSV or in any format that is recognised, as on the command line; what
    a reader of an import must know comes as an `ImportNote`, which is a warning.
    """
    if isinstance(given, Measurements):
        return given
    if isinstance(given, list | tuple) and given and all(map(_is_path, given)):
        imported = import_timings(given)
        warn_reader(f"{name_of(given[0])} and {len(given) - 1} more", imported.notes)
        return imported.measurements
    is_path = _is_path(given)
    if not is_path or recognised(given) is None:
        if is_path:
            refuse_unknown_json(given)
        try:
            return read_measurements(given)
        except NoRunEnded:
            raise
        except FileProblems as refusal:
            what = "path" if is_path else "table"
            problems = [replace(x, hint=_for_reading(what, x.hint)) for x in refusal.problems]
            raise type(refusal)(refusal.path, problems, unlisted=refusal.unlisted) from None
    imported = import_timings(given)
    warn_reader(name_of(given), imported.notes)
    return imported.measurements


def _is_path(given: object) -> bool:
    return isinstance(given, str | os.PathLike)


def _for_reading(what: str, hint: Text) -> Text:
    """Name the call that takes the arguments of a hint about a file or a table."""
    if isinstance(hint, str):
        return hint
    return tuple(
        replace(part, python=f"parcast.read_measurements({what}, {part})")
        if isinstance(part, Argument)
        else part
        for part in parts(hint)
    )


def import_timings(
    paths: AnyPath | Sequence[AnyPath],
    format: str | None = None,
    *,
    metric: str | None = None,
    rename: Mapping[str, str] | None = None,
    constants: Constants | None = None,
    time_pattern: str | None = None,
    count_pattern: str | None = None,
    table: TableOptions = AS_IT_IS,
) -> Imported:
    r"""Read timings that another tool wrote.

    Parameters
    ----------
    paths : path or sequence of path
        The files, all in one format; their rows are joined. The processor count is read
        from a file, or else from its name, such as ``p8.json``.
    format : str, optional
        Name of the format: "extrap", "slurm", "hyperfine" ... By default it is recognised.
    metric : str, optional
        The metric that is the time, where there are several.
    rename : mapping of str to str, optional
        New names of parameters, such as ``{"processes": "p"}``.
    constants : mapping, optional
        Axes that the files do not contain, such as ``{"p": 64}``, or a label, ``{"machine":
        "T3E"}``.
    time_pattern : str, optional
        Regular expression whose group is the time in a log of your own, such as
        ``r"elapsed: ([\d.]+)"``. The unit may follow it or stand in brackets before it. [s]
    count_pattern : str, optional
        Regular expression whose group is the processor count: in a log of your own, or else in
        the names of the files.
    table : TableOptions, optional
        How tables in several files are read: as `read_measurements` takes it.

    Returns
    -------
    Imported
        The measurements, and notes on what was left out or assumed.

    Raises
    ------
    ParameterError
        If the format is unknown, not recognised or describes machines, or a parameter to rename
        does not exist.
    FileProblems
        If a file is not in the format, or does not contain the processor counts.
    ModuleNotFoundError
        If the format needs an extra that is not installed.

    Examples
    --------
    >>> import parcast
    >>> weather = parcast.import_timings("examples/imports/weather.txt")
    >>> weather.measurements
    Measurements(10 rows: p 1 to 16, callpath 2 names, time 3.02 to 61.4 s)
    """
    patterns = Patterns(
        compiled(time_pattern, "time_pattern"), compiled(count_pattern, "count_pattern")
    )
    if format is None and time_pattern is not None:
        format = OWN_LOG
    with _standing(paths) as files:
        known = format_named(format) if format is not None else recognised_format(files)
        if time_pattern is not None and known.name != OWN_LOG:
            raise ParameterError(
                "time_pattern",
                must="be for logs of your own",
                got=f"files as {known.name}",
                hint="Leave it out, or leave the format out.",
            )
        if known.timings is None:
            raise _other_kind(known, files, ("timings", "describes a machine", "machine.toml"))
        given = {"rename": rename, "constants": constants, "patterns": patterns, "table": table}
        return timings_by(known, files, metric=metric, **given)


def _other_kind(
    known: Format, paths: Sequence[str | os.PathLike[str]], words: tuple[str, str, str]
) -> ParameterError:
    """Refuse a format of the other kind: what was wanted, what it does, a file to make of it."""
    wanted, does, target = words
    return ParameterError(
        "format",
        must=f"be one of {wanted}",
        got=f"{known.name}, which {does}",
        hint=f"Import it: {_importing(known, paths, target)}",
    )


def timings_by(
    known: Format, files: Sequence[Path], *, metric: str | None = None, **given: Any
) -> Imported:
    """Read files in a format of timings; what is `given` is as `Runs` takes it."""
    assert known.timings is not None
    members = [path / known.member if known.member and path.is_dir() else path for path in files]
    imported = known.timings(Runs(members, **given), metric)
    is_one = isinstance(imported, Imported) and isinstance(imported.measurements, Measurements)
    _require_type(known, "timings", imported, is_one, must="an Imported with Measurements")
    return imported


def import_machine(
    paths: Sequence[str | os.PathLike[str]], format: str, *, memory: str | None = None
) -> Any:
    """Read benchmark results of a machine, in the format "osu", "imb" or "ior".

    `memory` is that of the data, "host" or "device", where the files have results of several.
    `to_toml()` of the `MachineFigures` is a description, `notes` are remarks for its reader.
    """
    known = format_named(format)
    if known.machine is None:
        raise _other_kind(known, paths, ("machines", "contains timings", "timings.csv"))
    if memory is not None and not known.has_memories:
        raise ParameterError(
            "memory",
            must=f"be left out for {known.name}, which does not distinguish memories",
            hint="Leave it out.",
        )
    options = {} if memory is None else {"memory": memory}
    with _standing(paths) as files:
        return machine_by(known, files, **options)


def machine_by(known: Format, files: Sequence[Path], **options: str) -> BenchmarkFigures:
    """Read files in a format that describes a machine."""
    assert known.machine is not None
    figures = known.machine(files, **options)
    must = "an object with notes and to_toml()"
    _require_type(known, "machine", figures, isinstance(figures, BenchmarkFigures), must=must)
    return figures


def _importing(known: Format, paths: AnyPath | Sequence[AnyPath], output: str = "") -> Command:
    """Write how files are imported in a format."""
    files = (File(name_of(path)) for path in _files(paths))
    return ours("import", known.name, *files, *(("-o", output) if output else ()))


def _require_type(known: Format, function: str, given: object, is_one: bool, *, must: str) -> None:
    """Refuse what a function of a format returned, as a fault of its plugin."""
    if not is_one:
        raise PluginFaultError(
            f"{function} must return {must}, got {type(given).__name__}",
            of=getattr(known, function).__module__,
            name=known.name,
        )


def recognised_format(paths: Sequence[str | os.PathLike[str]]) -> Format:
    """Tell the one format of some files, or refuse them."""
    tables = [path for path in paths if _is_table(path)] if len(paths) > 1 else []
    if tables and len(tables) == len(paths):
        return format_named(TABLES)
    for path in [path for path in paths if tables and path not in tables]:
        known = recognised(path)
        if known is None:
            _refuse_unfit(path)
        raise ParameterError(
            "files",
            must="be in one format",
            got=f"a table and {name_of(path)}, which is {known.name if known else 'no table'}",
            hint="Import them separately.",
        )
    by_name: dict[str, Format] = {}
    for path in paths:
        likely = _likely(path)
        if len(likely) > 1:
            names = [known.name for known in likely]
            raise ParameterError(
                "format",
                must=f"be given for {name_of(path)}, which could be {' or '.join(names)}",
                hint=f"Choose one: {_importing(likely[0], [path])}",
            )
        if not likely:
            _refuse_unfit(path)
            raise ParameterError(
                "format",
                must=f"be given for {name_of(path)}, which is not recognised",
                hint=f"Choose from {', '.join(formats())}.",
            )
        by_name[likely[0].name] = likely[0]
    if len(by_name) > 1:
        raise ParameterError(
            "files",
            must="be in one format",
            got=", ".join(by_name),
            hint="Import them separately.",
        )
    return next(iter(by_name.values()))


def _is_table(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file is a table of measurements as text, which no format recognises."""
    from parcast.timings.tables.files import titles_of

    head = head_of(path)
    return bool(head and not _likely(path) and not JSON.match(head) and titles_of(head))


def _refuse_unfit(path: str | os.PathLike[str]) -> None:
    """Refuse a path that no file can be read from, and a file that no format could be in."""
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
        faults.refuse("must not be empty. Write it again.")
    refuse_packed(head, faults)
    refuse_unknown_json(path, head)
    if _is_our_table(head):
        faults.refuse(
            "must be of another tool, got a table of measurements. Use it directly: "
            f"{ours('forecast', File(faults.path))}"
        )


def is_of_no_format(path: str | os.PathLike[str]) -> bool:
    """Whether a file is neither text nor in a known binary format."""
    head = head_of(path)
    return head is not None and not is_text(head) and not _likely_by(head, Path(path))


def refuse_no_format(path: str | os.PathLike[str], name: str) -> None:
    """Refuse a file that is neither text nor in a known binary format; messages call it `name`."""
    if is_of_no_format(path):
        faults = Faults(name)
        refuse_packed(head_of(path) or b"", faults)
        faults.refuse(
            "must be text or in a format that can be imported, got other bytes. "
            f"Formats: {ours('import', '--list')}"
        )


def refuse_unknown_json(path: str | os.PathLike[str], head: bytes | None = None) -> None:
    """Refuse a file that is JSON, which no format knows: it is no table either.

    `head` is how it begins, where that was read already.
    """
    known = head_of(path) if head is None else head
    if known is not None and JSON.match(known.removeprefix(UTF8_MARK)):
        keys = dict.fromkeys(x.decode("utf-8", "replace") for x in KEY.findall(known[:KEYS_IN]))
        with_keys = f" (keys {', '.join(map(shown, list(keys)[:MOST_NAMED]))})" if keys else ""
        names = [x.name for x in formats().values() if x.timings and "JSON" in x.title.upper()]
        Faults(name_of(path)).refuse(
            f"must be in a known format, got JSON that no importer knows{with_keys}. JSON is "
            f"read of {listed(names, len(names))}: {ours('import', '--list')}"
        )


def _is_our_table(head: bytes) -> bool:
    """Tell a table of measurements by its header, which needs no module to be loaded."""
    lines = (line.strip() for line in head.removeprefix(UTF8_MARK).splitlines())
    header = next((line for line in lines if line.strip(b", \t") and line[:1] != b"#"), b"")
    titles = {title.strip(b' "') for title in header.split(b",")}
    return len(titles) > 1 and b"p" in titles and header[:1] not in b"{["


@contextmanager
def _standing(paths: AnyPath | Sequence[AnyPath]) -> Iterator[list[Path]]:
    """Give paths of files that can be read more than once: of pipes, those of copies."""
    with ExitStack() as meanwhile:
        yield [meanwhile.enter_context(readable_again(path)) for path in _files(paths)]


def _files(paths: AnyPath | Sequence[AnyPath]) -> list[Path]:
    """Take the files to import, at least one."""
    hint = "Name the files to import."
    try:
        return [Path(path) for path in as_paths(paths, hint=hint)]
    except TypeError:
        raise ParameterError(
            "paths", must="be names of files", got=f"{paths!r:.60}", hint=hint
        ) from None
