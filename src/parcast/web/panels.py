"""What the page asks of its files: panels, each the answer of a command."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from parcast.errors import ParameterError
from parcast.web.amounts import varied_count
from parcast.web.state import FIELDS, GOALS, PageState

COUNTS: Final = "1..64x2"  # of a program, where none are given
MOST_POINTS: Final = 20_000  # of a prediction
MOST_COUNTS: Final = 1_000  # of other answers
LONG: Final = {"-p": "--processors", "-d": "--disks", "-n": "--size"}
OF_GOALS: Final = tuple(x.name for x in FIELDS.values() if x.group == GOALS)
OF_RUNS: Final = ("p", "donors", "scaling")


@dataclass(frozen=True, slots=True)
class Panel:
    """A question about the chosen files, and the command that answers it."""

    name: str
    title: str
    command: Sequence[str]
    fields: Sequence[str]
    files: Sequence[str] = ()
    picture: str | None = None  # kind of picture
    is_quick: bool = False  # it is answered while a slider moves
    takes_amounts: bool = False  # of a program on machines, which can be set

    def options(self, state: PageState, amounts: Mapping[str, str]) -> list[tuple[str, str]]:
        """Options of the command and their values; `amounts` are those that are set."""
        given = {x: state.fields[x] for x in self.fields if x in state.fields}
        if self.takes_amounts:
            given = {"p": COUNTS, **given}
        varied = varied_count(state) if "vary" in given else 1
        _require_few(given, varied, MOST_POINTS if self.name == "predict" else MOST_COUNTS)
        own = [(FIELDS[x].option, text) for x, text in given.items()]
        return [*own, *(("--set", f"{name}={text}") for name, text in amounts.items())]

    def words(self, options: Sequence[tuple[str, str]]) -> list[str]:
        """Words of the command, without `parcast`; no value can be taken for an option."""
        given = (f"{LONG.get(name, name)}={value}" for name, value in options)
        return [*self.command, *self.files, *given]

    def line(self, options: Sequence[tuple[str, str]], state: PageState) -> str:
        """The command line, as a person types it: with the files as they were given."""
        given = {
            x.name: f"./{x.given}" if x.given.startswith("-") else x.given for x in state.files
        }
        options = [(x, given.get(y, y) if x == "--donors" else y) for x, y in options]
        words = ["parcast", *self.command, *(given.get(x, x) for x in self.files)]
        for name, value in options:
            words += [f"{LONG.get(name, name)}={value}"] if value[0] == "-" else [name, value]
        return shlex.join(words)


def panels_of(state: PageState) -> Iterator[Panel]:
    """Give the panels that the chosen files have, those that are answered at once first."""
    programs, machines, tables, profiles = (
        [x.name for x in state.of_kind(kind)]
        for kind in ("program", "machine", "timings", "profile")
    )
    if programs and machines:
        yield from _of_descriptions(programs[0], machines)
    if tables:
        yield from _of_table(tables[0])
    if len(tables) == 2:
        title = f"{tables[1]} compared with {tables[0]}"
        yield Panel("compare", title, ["compare"], ("p",), tables)
    if profiles:
        fields = ("p", "scaling")
        yield Panel("regions", "Efficiencies of the profiles", ["explain"], fields, profiles)


def _of_descriptions(program: str, machines: Sequence[str]) -> Iterator[Panel]:
    """Give the panels of a program: what takes its time is asked of the first machine."""
    at, first = ("p", "d", "n"), [program, machines[0]]
    described = partial(Panel, takes_amounts=True)
    fields = (*at, "vary")
    yield described("predict", "Prediction", ["predict"], fields, first, "lines", is_quick=True)
    yield described("explain", "What limits it", ["explain"], at, first)
    yield described("plan", "Decision", ["plan"], (*at, *OF_GOALS), [program, *machines])


def _of_table(table: str) -> Iterator[Panel]:
    """Give the panels of runs."""
    files, parts = [table], ("p", "scaling", "what_if")
    yield Panel(
        "forecast",
        f"Forecast from {table}",
        ["forecast"],
        (*OF_RUNS, "hold_out"),
        files,
        is_quick=True,
    )
    yield Panel("parts", f"What limits {table}", ["explain"], parts, files)
    yield Panel("ask", f"Decision from {table}", ["plan"], (*OF_RUNS, *OF_GOALS), files)


def fields_of(panels: Sequence[Panel]) -> list[str]:
    """Name the fields that some panels have, each once."""
    used = {name for panel in panels for name in panel.fields}
    return [name for name in FIELDS if name in used]


def _require_few(given: Mapping[str, str], points: int, most: int) -> None:
    """Refuse more points than are answered while one looks; others refuse what is no list."""
    from parcast.cli.ranges import parse_counts, parse_sizes

    for name, read in (("p", parse_counts), ("d", parse_counts), ("n", parse_sizes)):
        try:
            points *= len(read(given[name])) if name in given else 1
        except ValueError:
            return
    if points > most:
        raise ParameterError(
            "the counts",
            must=f"make at most {most:,} points on a page",
            got=f"{points:,}",
            hint="Give fewer, or use the command line.",
        )
