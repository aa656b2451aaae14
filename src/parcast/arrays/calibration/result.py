"""What measuring the costs of array I/O answers: every number, with its spread, and their file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

from parcast.arrays.calibration.regimes import BOTH, EAGER
from parcast.arrays.law.parameters import ArrayParameters
from parcast.arrays.store.writing import WRITE_OUT
from parcast.show.outline import document_of
from parcast.show.result import Result
from parcast.units import Dimension, format_quantity
from parcast.words import counted

UNLIMITED: Final = 1e13  # rate of what takes no time, as flushing a file system in memory [B/s]
RESAMPLED: Final = 200  # times, for the spread
ENDS: Final = (0.05, 0.95)  # of the 90% interval

Draw = Callable[[Sequence[float]], float]  # one number of several


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A measured number, and its spread over the repetitions."""

    _outline = "key value lower upper dimension method"

    key: str  # table and key, such as `servers.write_rate`; `computing.` is not in the file
    value: float  # with which the law comes closest to the times of reference requests [SI]
    lower: float  # lower end of its 90% interval [SI]
    upper: float  # upper end of it [SI]
    dimension: Dimension  # `time`, `rate`, `size` or `count`
    method: str  # the reference requests that determine it, or the dry run


def figure_of(key: str, dimension: Dimension, method: str, of: Callable[[Draw], float]) -> Figure:
    """Make a figure of what is computed from medians of repetitions."""
    rng = np.random.default_rng(1)

    def resampled(values: Sequence[float]) -> float:
        return float(np.median(rng.choice(values, len(values))))

    value = float(of(median))
    lower, upper = np.quantile([of(resampled) for _ in range(RESAMPLED)], ENDS)
    return Figure(
        key=key,
        value=value,
        lower=min(float(lower), value),
        upper=max(float(upper), value),
        dimension=dimension,
        method=method,
    )


DIGITS: Final = 6  # of numbers in the file
TABLES: Final = ("clients", "servers", "files", "messages")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MeasuredCosts(Result):
    """Costs of array I/O between so many clients and servers, on one machine and file system."""

    _schema = "parcast/array-io-costs/1"
    _outline = """
        rows=figures name clients servers folder cores mpi testbed=_testbed date seconds load
        costs=_tables warnings inputs
    """

    name: str  # name of the machine
    clients: int  # ranks that have arrays [1]
    servers: int  # ranks that write or read files [1]
    folder: str  # where files were written
    figures: tuple[Figure, ...]  # the numbers
    cores: int  # cores that the ranks had [1]
    mpi: str = ""  # vendor and version
    place: str = ""  # of a testbed
    date: str = ""  # when it was measured
    seconds: float = 0.0  # time that it took [s]
    load: float | None = None  # of the machine before; None where unknown [1]
    warnings: tuple[str, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Say in one line what was measured."""
        return (
            f"MeasuredCosts({self.name!r}, {self.clients} clients, {self.servers} servers, "
            f"{len(self.figures)} figures)"
        )

    def value(self, key: str) -> float:
        """Give a number by its key, such as "servers.write_rate". [SI]."""
        return next(figure.value for figure in self.figures if figure.key == key)

    def parameters(self) -> ArrayParameters:
        """Costs of any request, as they are saved."""
        return ArrayParameters(**self._tables())

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each number."""
        return map(document_of, self.figures)

    def save(self, path: str | PathLike[str], **options: Any) -> None:
        """Write it to a file as others, or as .toml for `parcast plan io --costs`."""
        from parcast.files.document import write_document

        if Path(path).suffix.lower() == ".toml":
            write_document(str(path), [self.to_toml()])
        else:
            Result.save(self, path, **options)

    def to_toml(self) -> str:
        """The file that `parcast plan io --costs` reads."""
        tables = self._tables()
        kept = {name: figure for figure, name in self._named()}
        lines = ["# Costs of array I/O, measured by parcast calibrate array-io.", "#"]
        lines += [f"# {line}" for line in self._where()]
        lines += [f"{key} = {_quoted(tables[key])}" for key in ("name", "source")]
        for table in TABLES:
            lines += ["", f"[{table}]"]
            for key, value in tables[table].items():
                text = str(value).lower() if isinstance(value, bool) else _quoted(value)
                figure = kept.get(f"{table}.{key}")
                note = "" if figure is None else f"  # {_spread(figure)}{figure.method}"
                lines.append(f"{key} = {text}{note}")
        return "\n".join([*lines, ""])

    def _where(self) -> Iterator[str]:
        """Say where and how it was measured."""
        ranks = f"{counted(self.clients, 'client')} and {counted(self.servers, 'server')}"
        yield f"{ranks} on {self.place or counted(self.cores, 'core')}"
        yield f"folder: {self.folder}"
        yield "The interval after a number is the 90% interval of the fit to reference requests."

    @property
    def _testbed(self) -> str | None:
        """The testbed; `null` where there is none."""
        return self.place or None

    def _tables(self) -> dict[str, Any]:
        """The tables of the TOML file."""
        tables: dict[str, Any] = {
            "name": self.name,
            "source": f"measured on {self.date} by parcast calibrate array-io",
            **{table: {} for table in TABLES},
        }
        for figure, name in self._named():
            table, _, key = name.partition(".")
            tables[table][key] = format_quantity(figure.value, figure.dimension, DIGITS)
        tables["servers"] |= {"partition": f"{WRITE_OUT} B", "through_cache": True}
        tables["servers"]["asks_ahead"] = True
        tables["messages"] |= {"eager_limit": f"{EAGER:.0f} B", "nonblocking": True}
        return tables

    def _named(self) -> Iterator[tuple[Figure, str]]:
        """Give the numbers of the file, with the keys that they have there."""
        for figure in self.figures:
            for name in BOTH.get(figure.key, (figure.key,)):
                if name.partition(".")[0] in TABLES:
                    yield figure, name


def _quoted(text: object) -> str:
    """Write a text as TOML does."""
    escaped = str(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _spread(figure: Figure) -> str:
    """Write the interval of a figure."""
    lower, upper = (format_quantity(x, figure.dimension, 3) for x in (figure.lower, figure.upper))
    return "" if lower == upper else f"{lower} to {upper}; "
