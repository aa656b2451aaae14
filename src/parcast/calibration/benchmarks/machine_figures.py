"""What benchmarks tell of a machine: figures, each with where it comes from, as a TOML file."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from parcast.errors import require
from parcast.files.decoding import base_name
from parcast.units import Dimension, format_quantity, shown
from parcast.words import listed

MOST_NAMED = 5  # files and tables, one after another
LONGEST = 400  # characters of a comment or a source
UNNAMED = 'name = "a machine"  # change it to the name of your machine'
DIGITS = 4  # of a figure: more than a benchmark repeats


@dataclass(frozen=True, kw_only=True, slots=True)
class SourcedFigure:
    """One key of a machine description, and where it comes from."""

    _outline = "key text source"

    key: str  # "network.latency"
    text: str  # as the file holds it: "1.25 us", or a whole number: "1"
    source: str  # one line: "osu_latency, 2 processes, 0 B, median of 3 runs (1.2 to 1.3 us)"


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineFigures:
    """Figures of one machine, and what a reader of them must know."""

    source: str  # what measured them
    name: str = ""  # of the machine; "" where nobody said
    figures: tuple[SourcedFigure, ...] = ()
    remarks: tuple[str, ...] = ()  # lines on what no key of a machine holds
    warnings: tuple[str, ...] = ()  # full sentences that the file holds
    notes: tuple[str, ...] = field(default=(), compare=False)  # full sentences

    def to_toml(self) -> str:
        """Text of a machine description, each figure below a comment on its source."""
        named = f"name = {quoted(self.name)}" if self.name else UNNAMED
        lines = [named, f"source = {quoted(self.source)}"]
        table = above = ""
        for figure in self.figures:
            head, _, key = figure.key.rpartition(".")
            if head != table:
                lines += ["", f"[{head}]"]
                table, above = head, ""
            if figure.source != above:
                lines.append(f"# {shown(figure.source, limit=LONGEST)}")
                above = figure.source
            value = figure.text if figure.text.isdigit() else quoted(figure.text)
            lines.append(f"{key} = {value}")
        if self.remarks:
            lines += ["", "# Also measured; machine files have no key for it:"]
            lines += [f"# {shown(remark, limit=LONGEST)}" for remark in self.remarks]
        if self.warnings:
            lines += ["", "# Warnings of the measurement:"]
            lines += [f"# {shown(warning, limit=LONGEST)}" for warning in self.warnings]
        return "\n".join(lines) + "\n"


def median_of(values: ArrayLike, dimension: Dimension) -> tuple[float, str]:
    """Give the median of some SI values, and words: ", median of 3 runs (1.2 us to 1.3 us)"."""
    given = np.asarray(values, dtype=np.float64)
    ok = (given > 0) & np.isfinite(given)
    require("values", given, ok, must="be above 0", hint="Leave out runs that failed.")
    if len(given) == 1:
        return float(given[0]), ""
    least, most = (format_quantity(x, dimension) for x in (given.min(), given.max()))
    return float(np.median(given)), f", median of {len(given)} runs ({least} to {most})"


def figure_of(key: str, values: ArrayLike, dimension: Dimension, source: str) -> SourcedFigure:
    """Give the median of some SI values as a figure, with their range in its source."""
    middle, spread = median_of(values, dimension)
    return SourcedFigure(key=key, text=written(middle, dimension), source=f"{source}{spread}")


def written(value: float, dimension: Dimension) -> str:
    """Text of a figure with its unit: "150.6 us"; never in days, as d is an axis."""
    if dimension == "time" and value >= 1000:
        return f"{value:.{DIGITS}g} s"
    return format_quantity(value, dimension, DIGITS)


def named_first(names: Iterable[str]) -> str:
    """Name things one after another, the first of them where there are many."""
    return listed(map(shown, names), MOST_NAMED)


def files_of(tool: str, paths: Sequence[Path]) -> str:
    """Name a tool and the files that it wrote."""
    return f"{tool}: {named_first(map(base_name, paths))}"


def quoted(text: str) -> str:
    """Text as TOML writes it: what can be printed stands as it is, and the rest as JSON has it."""
    return json.dumps(shown(text, limit=LONGEST), ensure_ascii=False)
