"""What an import gives: measurements with what a reader must know, and what a format is."""

from dataclasses import dataclass
from typing import Literal

from parcast.measurements import Measurements


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
