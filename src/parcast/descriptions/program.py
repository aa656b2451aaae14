"""What runs: a sequence of phases, each a timing law repeated a number of times.

A phase names its law, and the law knows the other keys. Laws that come with parcast are listed
here by the place of their class; a plugin adds its own under the entry point ``parcast.laws``.
"""

import difflib
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Field, field_validator, model_validator

from parcast.aliases import Array
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.breakdown import Breakdown
from parcast.descriptions.description import (
    Description,
    DescriptionError,
    Of,
    require_other_labels,
    tables_of,
)
from parcast.descriptions.machine import Machine
from parcast.errors import Problem, require_kind
from parcast.places import load
from parcast.units import shown

LAWS: Final = {
    "spmd": "parcast.laws.spmd.law:SpmdPhase",
    "regions": "parcast.laws.regions:RegionsPhase",
    "merge_sort": "parcast.laws.sort:MergeSortPhase",
    "sort": "parcast.laws.sort:SortPhase",
    "square_sort": "parcast.laws.square_sort:SquareSortPhase",
    "fractal": "parcast.laws.fractal:FractalPhase",
    "monte_carlo": "parcast.laws.monte_carlo:MonteCarloPhase",
    "matmul": "parcast.laws.matmul:MatmulPhase",
    "gauss": "parcast.laws.gauss:GaussPhase",
    "stencil": "parcast.laws.stencil:StencilPhase",
    "counted": "parcast.laws.counted:CountedPhase",
}
ENTRY_POINTS: Final = "parcast.laws"


class Phase(Description):
    """A timing law and how often it is repeated; each law is a class derived from this one."""

    law: str = Field(description="Timing law of the phase.")
    name: str = Field(default="", description="What to call it.")
    cycles: Annotated[Amount, Of("count", name="cycles")] = Field(
        default="1", validate_default=True, description="How often it is repeated."
    )

    source_of_law: ClassVar[str] = ""  # where the law comes from
    is_compact: ClassVar[bool | None] = None  # search-space compact; None: not known

    @abstractmethod
    def cycle(self, machine: Machine, at: Point) -> Breakdown:
        """Time of one cycle at every point of a grid [s]."""

    def times(self, machine: Machine, at: Point) -> Breakdown:
        """Time of all cycles at every point of a grid.

        Parameters
        ----------
        machine : Machine
            What it runs on.
        at : mapping from axes to array_like
            "p" processors and perhaps "d" disks and "n" problem size, which broadcast; a
            parameter's name ("network.bandwidth") replaces its value. [1], [SI]

        Returns
        -------
        Breakdown
            Of the shape of what it depends on. [s]

        Raises
        ------
        ParameterError
            If the law cannot answer somewhere on the grid.
        """
        with np.errstate(over="ignore"):  # what is infinite is refused where it is asked for
            return self.cycle(machine, at) * self.cycles(at)

    def work(self, machine: Machine, at: Point) -> Array | None:  # noqa: ARG002 - for derived laws
        """Work of all cycles that processors share, on one of them, or None. [s].

        Where it grows with p, scaling is weak, and speedup is that of the work.
        """
        return None

    def warnings(self, machine: Machine) -> Iterator[str]:  # noqa: ARG002 - for derived laws
        """Give what a reader of the law's times must know, in sentences."""
        yield from ()


def phase_of(given: Any) -> Phase:
    """Build a phase of the class that its law names.

    Parameters
    ----------
    given : Phase or mapping
        A mapping has the key "law".

    Raises
    ------
    ParameterError
        If the law is not known, or the law refuses what is given.
    """
    if isinstance(given, Phase):
        return given
    if not isinstance(given, Mapping) or "law" not in given:
        raise DescriptionError(
            "Phase", [Problem(message='must be given. Add law = "spmd".', field="law")]
        )
    return law_named(given["law"])(**given)


def law_named(law: object) -> type[Phase]:
    """Class of the phases that a law describes.

    Raises
    ------
    ParameterError
        If there is no such law, with the nearest one there is.
    """
    if isinstance(law, str) and law in LAWS:
        place = LAWS[law]
    else:
        from importlib.metadata import entry_points

        plugins = {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}
        known = sorted(LAWS | plugins)
        if law not in plugins:
            near = difflib.get_close_matches(str(law).casefold(), known, n=1, cutoff=0.6)
            hint = f'Did you mean "{near[0]}"?' if near else f"Known are {', '.join(known)}."
            message = f"must be the name of a law, got {shown(repr(law))}. {hint}"
            raise DescriptionError("Phase", [Problem(message=message, field="law")])
        place = plugins[str(law)]
    kind: type[Phase] = load(place)
    return kind


_AnyPhase: TypeAlias = Annotated[Phase, BeforeValidator(phase_of)]


class Program(Description):
    """A parallel program.

    Examples
    --------
    >>> btio = Program(
    ...     name="BTIO, class A",
    ...     phase=[{"law": "spmd", "cycles": 40, "compute": {"parallel": "6.9 s"}}],
    ... )
    >>> btio.times(Machine(), {"p": [1.0, 2.0]}).compute
    array([276., 138.])
    """

    name: str = Field(default="a program", description="What to call it.")
    source: str = Field(default="", description="Where the figures come from.")
    phase: tuple[_AnyPhase, ...] = Field(description="Phases, in their order.")

    @field_validator("phase", mode="before")
    @classmethod
    def _as_tuple(cls, given: Any) -> Any:
        return tables_of(given, "phase", "[[phase]]")

    @model_validator(mode="after")
    def _labels_differ(self) -> "Program":
        labels = [self.label(i) for i in range(len(self.phase))]
        require_other_labels(labels, "phase")
        return self

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Give the JSON Schema of a program's file: a phase is one of those that laws describe."""
        schema = super().model_json_schema(*args, **kwargs)
        definitions = schema["$defs"]
        definitions.pop("Phase")
        for law in LAWS:
            of_law = law_named(law).model_json_schema(*args, **kwargs)
            definitions |= of_law.pop("$defs")
            definitions[of_law["title"]] = of_law
        names = [law_named(law).__name__ for law in LAWS]
        items = {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in names]}
        schema["properties"]["phase"] |= {"items": items, "minItems": 1}
        return schema

    def times(self, machine: Machine, at: Point) -> Breakdown:
        """Time of all phases, one after the other; as `Phase.times`."""
        first, *others = (
            phase.times(machine, self.at_phase(i, at)) for i, phase in enumerate(self.phase)
        )
        return sum(others, start=first)

    def parameters(self) -> dict[str, Amount]:
        """Every amount that is given, by the name under which a point replaces it."""
        found = {}
        for i, phase in enumerate(self.phase):
            label = self.label(i)
            for name, amount in phase.amounts():
                found[f"{label}.{name}" if label else name] = amount
        return found

    def work(self, machine: Machine, at: Point) -> Array | None:
        """Work that processors share, of all phases; None if a law has none [s]."""
        works = [phase.work(machine, self.at_phase(i, at)) for i, phase in enumerate(self.phase)]
        known = [work for work in works if work is not None]
        return sum(known[1:], start=known[0]) if known and len(known) == len(works) else None

    def label(self, i: int) -> str:
        """What parameters of a phase begin with: its name, or "phase 2"; "" for the only one."""
        if len(self.phase) == 1:
            return ""
        return self.phase[i].name or f"phase {i + 1}"

    def at_phase(self, i: int, at: Point) -> Point:
        """Point as a phase sees it: parameters of this phase under their own names alone."""
        label = self.label(i)
        if not label:
            return at
        names = {name for name, _ in self.phase[i].amounts()}
        own = {key.removeprefix(f"{label}."): key for key in at if key.startswith(f"{label}.")}
        own = {name: key for name, key in own.items() if name.removesuffix("*") in names}
        return {**at, **{key: at[long] for key, long in own.items()}}


def require_descriptions(program: Program, machine: Machine) -> None:
    """Refuse what is no description, or another one.

    Raises
    ------
    ParameterError
        If `program` is no Program or `machine` no Machine.
    """
    for name, value, kind in (("program", program, Program), ("machine", machine, Machine)):
        hint = f"Build it with parcast.{kind.__name__}(...) or parcast.read_{name}(path)."
        require_kind(name, value, kind, hint=hint)
