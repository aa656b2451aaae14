"""Why a program takes its time, and what would shorten it, by what is known of it."""

from __future__ import annotations

from numpy.typing import ArrayLike

from parcast.deciding.explain.descriptions.explain import explain_descriptions
from parcast.deciding.explain.descriptions.result import DescriptionsExplained
from parcast.descriptions.toml_files import MachineLike, ProgramLike, as_machine, as_program


def explain(
    what: ProgramLike,
    machine: MachineLike,
    *,
    p: ArrayLike,
    d: int | None = None,
    n: float | None = None,
    law_error: bool = True,
    seed: int = 0,
) -> DescriptionsExplained:
    """Explain the time of a program, and rank what would shorten it.

    Parameters
    ----------
    what : Program or path
        The program, or the path of its TOML file.
    machine : Machine or path
        The machine, or the path of its TOML file.
    p : int or array_like of one dimension
        Processor counts: whole numbers of at least 1. Upgrades are of the largest. [1]
    d : int, optional
        Disks or I/O servers. By default those of the machine. [1]
    n : float, optional
        Problem size, where the formulas of the program use n. [1]
    law_error : bool, default True
        Whether intervals include the allowance for the error of the law, see
        `parcast.laws.allowances`.
    seed : int, default 0
        Seed of the sets of amounts that intervals are computed from.

    Returns
    -------
    DescriptionsExplained
        `amounts` have the elasticity of the time by each amount of program and machine [1],
        `resources` the share of the time that each takes [1], `upgrades` what each thing twice as
        good saves, alone and in pairs [1], `limiting` from which p on which resource limits, and
        `extremes` the times with p and d without end and with infinitely fast resources [s].
        Arrays have the shape of the counts, ascending; each number has its 90 % interval.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, a description lacks what the law needs, or the law
        has no answer at a count.
    FileProblems
        If a file cannot be read, or something in it is wrong.

    Notes
    -----
    The elasticity of the time by an amount is its logarithmic derivative [D]. That of a resource
    is the sum of those of all its service times; over all resources they add up to 1 (Euler) [R].
    A resource is saturated where that is 0.9 or more up to the largest count [D].

    Examples
    --------
    >>> import parcast
    >>> work = {"parallel": "8 Gflop", "serial": "1 Gflop"}
    >>> program = parcast.Program(phase=[{"law": "spmd", "compute": work}])
    >>> machine = parcast.Machine(compute={"rate": "1 Gflop/s"})
    >>> result = parcast.explain(program, machine, p=8)
    >>> {x.name: round(float(x.elasticity[0]), 3) for x in result.amounts if x.of == "machine"}
    {'compute.rate': -1.0}
    >>> result.upgrades[0].what, round(result.upgrades[0].saved.value, 3)
    (('compute.rate x 2',), 0.5)
    """
    return explain_descriptions(
        as_program(what), as_machine(machine), p=p, d=d, n=n, law_error=law_error, seed=seed
    )
