"""What the page asks of its files: panels, each the answer of a command."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from parcast.errors import ParameterError
from parcast.web.state import FIELDS, PageState

COUNTS: Final = "1..64x2"  # of a program, where none are given
MOST_POINTS: Final = 20_000  # of one answer
LONG: Final = {"-p": "--processors", "-d": "--disks", "-n": "--size"}
GOALS: Final = ("within", "budget", "efficiency", "certainty", "counts", "cores_per_node")
OF_RUNS: Final = ("p", "donors", "scaling")


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """A question about the chosen files, and the command that answers it."""

    name: str
    title: str
    command: Sequence[str]
    fields: Sequence[str]
    files: Sequence[str] = ()
    picture: str | None = None  # kind of picture
    is_quick: bool = False  # it is answered while a slider moves

    def options(self, state: PageState, amounts: Mapping[str, str]) -> list[tuple[str, str]]:
        """Options of the command and their values; `amounts` are those that are set."""
        given = dict(state.fields)
        if not self.takes_amounts:
            return [(FIELDS[x].option, given[x]) for x in self.fields if x in given]
        given.setdefault("p", COUNTS)
        _require_few(given)
        own = [(FIELDS[x].option, given[x]) for x in self.fields if x in given]
        return [*own, *(("--set", f"{name}={text}") for name, text in amounts.items())]

    def words(self, options: Sequence[tuple[str, str]]) -> list[str]:
        """Words of the command, without `parcast`; no value can be taken for an option."""
        given = (f"{LONG.get(name, name)}={value}" for name, value in options)
        return [*self.command, *self.files, *given]

    def line(self, options: Sequence[tuple[str, str]]) -> str:
        """The command line, as a person types it."""
        words = ["parcast", *self.command, *self.files]
        for name, value in options:
            words += [f"{LONG.get(name, name)}={value}"] if value[0] == "-" else [name, value]
        return shlex.join(words)

    @property
    def takes_amounts(self) -> bool:
        """Whether it is of a program on machines, whose amounts can be set."""
        return "d" in self.fields


def panels_of(state: PageState) -> Iterator[Panel]:
    """Give the panels that the chosen files have, those that are answered at once first."""
    programs, machines = state.of_kind("program"), state.of_kind("machine")
    tables, profiles = state.of_kind("timings"), state.of_kind("profile")
    if programs and machines:
        pair = [programs[0].name, machines[0].name]
        at = ("p", "d", "n")
        yield Panel(
            name="predict",
            title="Prediction",
            command=["predict"],
            files=pair,
            fields=(*at, "vary"),
            picture="lines",
            is_quick=True,
        )
        yield Panel(
            name="explain", title="What limits it", command=["explain"], files=pair, fields=at
        )
        every = [programs[0].name, *(x.name for x in machines)]
        yield Panel(
            name="plan", title="Decision", command=["plan"], files=every, fields=(*at, *GOALS)
        )
    if tables:
        table = [tables[0].name]
        yield Panel(
            name="forecast",
            title=f"Forecast from {table[0]}",
            command=["forecast"],
            files=table,
            fields=(*OF_RUNS, "hold_out"),
            is_quick=True,
        )
        yield Panel(
            name="parts",
            title=f"What limits {table[0]}",
            command=["explain"],
            files=table,
            fields=("p", "scaling", "what_if"),
        )
        yield Panel(
            name="ask",
            title=f"Decision from {table[0]}",
            command=["plan"],
            files=table,
            fields=(*OF_RUNS, *GOALS),
        )
    if len(tables) == 2:
        names = [x.name for x in tables]
        yield Panel(
            name="compare",
            title=f"{names[1]} compared with {names[0]}",
            command=["compare"],
            files=names,
            fields=("p",),
        )
    if profiles:
        yield Panel(
            name="regions",
            title="Efficiencies of the profiles",
            command=["explain"],
            files=[x.name for x in profiles],
            fields=("p", "scaling"),
        )


def fields_of(panels: Sequence[Panel]) -> list[str]:
    """Name the fields that some panels have, each once."""
    used = {name for panel in panels for name in panel.fields}
    return [name for name in FIELDS if name in used]


def _require_few(given: Mapping[str, str]) -> None:
    """Refuse more points than are answered while one looks; others refuse what is no list."""
    from parcast.cli.ranges import parse_counts, parse_sizes

    points = 1
    for name, read in (("p", parse_counts), ("d", parse_counts), ("n", parse_sizes)):
        try:
            points *= len(read(given[name])) if name in given else 1
        except ValueError:
            return
    many = given.get("vary", "")
    points *= 64 if ".." in many else many.count(",") + 1
    if points > MOST_POINTS:
        raise ParameterError(
            "the counts",
            must=f"make at most {MOST_POINTS:,} points on a page",
            got=f"{points:,}",
            hint="Give fewer, or use the command line.",
        )
