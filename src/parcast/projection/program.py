"""`parcast.project`: a program on a machine where it hardly ran, by the law that describes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program, doubts_of
from parcast.descriptions.toml_files import (
    MachineLike,
    ProgramLike,
    as_machine,
    as_machines,
    as_program,
)
from parcast.errors import Argument, ParameterError, as_number, require
from parcast.projection.counted import phase_of, project_counts
from parcast.projection.read_counts import read_counts
from parcast.projection.regions import project_regions
from parcast.projection.result import CountedProjection, Projection
from parcast.timings.measurements import MeasurementsLike
from parcast.units import shown

MOST_NAMED: Final = 12  # programs in one message
Answer = TypeVar("Answer", CountedProjection, Projection)


def project(
    program: ProgramLike,
    machine: MachineLike,
    p: ArrayLike,
    *,
    name: str | None = None,
    base: MachineLike | None = None,
    known: MeasurementsLike | None = None,
    n: float | None = None,
    donors: MeasurementsLike | None = None,
    donor_machines: MachineLike | Sequence[MachineLike] = (),
) -> CountedProjection | Projection:
    """Times of a program on a machine where it hardly ran, from what is known of it elsewhere.

    Of a counted program, what it computes is scaled by one known run, and what it sends is
    computed for the machine. Of a program of regions, the times of its loops on a base machine
    are scaled.

    Parameters
    ----------
    program : path or Program
        Path of a table of counts, with the columns of `parcast project`, or a Program with one
        phase of law "counted" or phases of law "regions" (or the path of its TOML file).
    machine : Machine or path
        The machine to project onto, with its network.
    p : array_like, a number or one dimension
        Processor counts: whole numbers of at least 1. [1]
    name : str, optional
        Which program, where the table has several.
    base : Machine or path, optional
        Of a program of regions, which requires it: the machine on which its loops take the times
        that are described.
    known : Measurements, table or path, optional
        Runs on the machine. The run at the smallest count, best p = 1, gives its speed of
        computing; by default that of the machine that counted, or the ratio of `compute.rate` of
        the base and the machine.
    n : float, optional
        Problem size, where formulas of the regions use n; by default that of the known run. [1]
    donors : Measurements, table or path, optional
        Of a counted program: runs on other machines at two counts or more, with a column
        `machine`. They correct what the counts do not determine.
    donor_machines : sequence of Machine or path, optional
        Descriptions of the machines of `donors`, by the same names.

    Returns
    -------
    CountedProjection or Projection
        Of a counted program or of one of regions. Their arrays have one element for each `p`,
        with 90% intervals. [s]

    Raises
    ------
    ParameterError
        If an argument lies outside its domain or does not go with the program, a description
        lacks what the law needs, or a known run is shorter than what it sends.
    FileProblems
        If a file cannot be read, or something in it is wrong.

    Examples
    --------
    >>> from parcast import Machine, Program, project
    >>> count = [{"p": 1, "compute": "80 s"}, {"p": 4, "compute": "82 s", "messages": 4e4}]
    >>> program = Program(phase=[{"law": "counted", "count": count}])
    >>> machine = Machine(network={"latency": "0.1 ms", "bandwidth": "100 MB/s"})
    >>> result = project(program, machine, 4, known={"p": [1], "time": [120.0]})
    >>> result.time.round(1), result.pace
    (array([31.8]), 1.5)

    The base ratio of a program of regions: its loop took 80 s on the base.

    >>> loop = {"kind": "loop", "iterations": 1000, "iteration": "80 ms"}
    >>> program = Program(phase=[{"law": "regions", "region": [loop, {"kind": "barrier"}]}])
    >>> base = Machine(name="base")
    >>> result = project(program, machine, [1, 4], base=base, known={"p": [1], "time": [120.0]})
    >>> result.time.round(1), result.ratio
    (array([120.,  30.]), 1.5)
    """
    machine = as_machine(machine)
    program = _program(program, name)
    counts = np.atleast_1d(np.asarray(p, dtype=np.float64))
    ok = (counts >= 1) & (counts == np.floor(counts)) & np.isfinite(counts)
    require("p", counts, ok, must="be whole numbers of at least 1", hint="Count from 1.")
    donor_machines = as_machines(donor_machines)
    if all(phase.law == "regions" for phase in program.phase):
        _refuse({"donors": donors, "donor_machines": donor_machines or None}, "regions")
        if base is None:
            raise ParameterError(
                "base",
                must="be given for a program of regions",
                hint="Give the machine whose times it describes.",
            )
        if n is not None:
            n = as_number("n", n, hint="Give one problem size.")
            require("n", n, n > 0, must="be above 0", hint="Give the problem size.")
        base = as_machine(base, name="base")
        projected = project_regions(program, machine, counts, base=base, known=known, n=n)
        return _with_doubts(projected, program, machine, base)
    phase_of(program)  # another law is refused as such, whatever is given beside it
    _refuse({"base": base, "n": n}, "counts")
    counted = project_counts(
        program, machine, counts, known=known, donors=donors, donor_machines=donor_machines
    )
    return _with_doubts(counted, program, machine, *donor_machines)


def _with_doubts(answer: Answer, *described: Program | Machine) -> Answer:
    """Begin the warnings with what is to be doubted of the descriptions."""
    doubts: list[str] = [*doubts_of(*described)]
    return replace(answer, warnings=tuple(dict.fromkeys([*doubts, *answer.warnings])))


def _refuse(given: dict[str, object], what: str) -> None:
    """Refuse arguments that do not go with a program of this kind."""
    for name, value in given.items():
        if value is not None:
            raise ParameterError(
                name,
                must=f"be left out for a program described by {what}",
                hint=("Leave ", Argument(name), " out."),
            )


def _program(given: ProgramLike, name: str | None) -> Program:
    """Take a program, or read it from a description or from a table of counts."""
    if isinstance(given, str | PathLike) and Path(given).suffix.lower() != ".toml":
        programs = read_counts(given)
    else:
        programs = (as_program(given),)
    chosen = [x for x in programs if name in (None, x.name)]
    if len(chosen) != 1:
        names = ", ".join(shown(repr(x.name)) for x in programs[:MOST_NAMED])
        got = "none" if name is None else shown(repr(name))
        raise ParameterError(
            "name", must="name one of the programs", got=got, hint=f"There is {names}."
        )
    return chosen[0]
