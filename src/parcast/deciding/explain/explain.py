"""Why a program takes its time, and what would shorten it, by what is known of it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from numpy.typing import ArrayLike

from parcast.characterisation.profiles.reading import kind_of_profile
from parcast.deciding.explain.descriptions.explain import explain_descriptions
from parcast.deciding.explain.descriptions.result import DescriptionsExplained
from parcast.deciding.explain.profiles.explain import explain_profiles
from parcast.deciding.explain.profiles.result import ProfilesExplained
from parcast.deciding.explain.timings.explain import explain_timings
from parcast.deciding.explain.timings.result import TimingsExplained
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import MachineLike, ProgramLike, as_machine, as_program
from parcast.errors import ParameterError
from parcast.files.faults import AnyPath
from parcast.forecasting.own_runs.scaling import Scaling
from parcast.timings.measurements import MeasurementsLike


def explain(
    what: ProgramLike | MeasurementsLike | Sequence[AnyPath],
    machine: MachineLike | None = None,
    *,
    p: ArrayLike | None = None,
    d: int | None = None,
    n: float | None = None,
    law_error: bool = True,
    by: Sequence[str] | None = None,
    scaling: Scaling = "auto",
    what_if: str | Sequence[str] = (),
    seed: int = 0,
) -> DescriptionsExplained | TimingsExplained | ProfilesExplained:
    """Explain the time of a program, and what would shorten it.

    Parameters
    ----------
    what : Program, Measurements, table, path or sequence of path
        With `machine` the program, or the path of its TOML file; without it measured times, as
        for `parcast.forecast`, or one or several paths of profiles: what `parcast.region` wrote,
        TALP JSON files, Score-P profiles, or those of Caliper with times of each rank.
    machine : Machine or path, optional
        The machine that a program is explained on.
    p : int or array_like of one dimension, optional
        Processor counts: whole numbers of at least 1. Upgrades are of the largest. Required for a
        program; of measured times the default is the next two doublings, of profiles one. [1]
    d : int, optional
        Disks or I/O servers, for a program. By default those of the machine. [1]
    n : float, optional
        Problem size, where the formulas of a program use n. [1]
    law_error : bool, default True
        Whether intervals include the allowance for the error of the law of a program, see
        `parcast.laws.allowances`.
    by : sequence of str, optional
        Columns that tell series of measured times apart, as for `parcast.forecast`.
    scaling : {"auto", "strong", "weak"}, default "auto"
        How measured times are read, as for `parcast.forecast`.
    what_if : str or sequence of str, optional
        Less of a part of measured times: "serial/2", "growing/2", "shared/4".
    seed : int, default 0
        Seed of what intervals are computed from.

    Returns
    -------
    DescriptionsExplained, TimingsExplained or ProfilesExplained
        Of a program: `amounts` have the elasticity of the time by each amount of program and
        machine [1], `resources` the share of the time that each takes [1], `upgrades` what each
        thing twice as good saves, alone and in pairs [1], `limiting` from which p on which
        resource limits, and `extremes` the times with p and d without end and with infinitely
        fast resources [s]. Arrays have the shape of the counts, ascending.

        Of measured times: `series`, each with the shares of shared, constant and growing work in
        its `parts`, (counts, 3) [1], at its largest measured count and those of `p` beyond it, the
        `serial` fractions by count [1], and the `next_run`.

        Of profiles: `problems`, each with the `values` of the POP efficiencies by name, (counts,)
        [1], at measured and forecast counts, and the `losses` of its regions. Each number has its
        90% interval; one of a single run has none.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, a description lacks what the law needs, or the law
        has no answer at a count.
    FitFailed
        If no series of measured times can be forecast.
    FileProblems
        If a file cannot be read, or something in it is wrong.

    Notes
    -----
    The elasticity of the time by an amount is its logarithmic derivative [D]. That of a resource
    is the sum of those of all its service times; over all resources they add up to 1 (Euler) [R].
    A resource is saturated where that is 0.9 or more up to the largest count [D]. Parts of
    measured times are those of the laws that forecast them, weighted as they are there [D]; serial
    fractions are those of Karp and Flatt, :doi:`10.1145/78607.78614` [S]. Efficiencies are those
    of the POP project, https://pop-coe.eu/node/69 [S].

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

    >>> runs = {"p": [1, 2, 4, 8], "time": [110.0, 60.0, 35.0, 22.5]}
    >>> parts = parcast.explain(runs, what_if="serial/2").series[0].parts
    >>> dict(zip(("shared", "constant", "growing"), parts.share[0].round(2).tolist()))
    {'shared': 0.57, 'constant': 0.43, 'growing': 0.0}
    """
    if machine is not None:
        if p is None:
            raise ParameterError(
                "p", must="be given with a machine", hint="Give the processor counts."
            )
        program = as_program(what)  # type: ignore[arg-type]  # which refuses a table
        described = as_machine(machine)
        return explain_descriptions(
            program, described, p=p, d=d, n=n, law_error=law_error, seed=seed
        )
    if isinstance(what, Program):
        raise ParameterError(
            "machine", must="be given with a program", hint="Give a Machine or its file."
        )
    paths = [what] if isinstance(what, str | os.PathLike) else what
    if isinstance(paths, list | tuple) and any(map(kind_of_profile, paths)):
        return explain_profiles(paths, p=p, scaling=scaling)
    return explain_timings(what, p=p, by=by, scaling=scaling, what_if=what_if, seed=seed)
