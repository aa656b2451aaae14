"""Validate laws: calibrate small, predict larger and other counts, run, compare.

One mechanism for every program that has a kernel and a law that counts:

1. a trial finds sizes that take some hundredths of a second (`plan`);
2. small sizes are timed with P = 1, 2, the largest count and possibly one between, in several
   launches;
3. the capacities of the law are fitted to them (`calibration`);
4. larger sizes and all counts are predicted, with intervals (`interval`);
5. these are run, those that others disturbed again for a while (`cells`), and
6. compared: whether the law holds is decided by printed rules (`verdict`).

What is predicted is predicted before it runs: no run of step 5 has a part in step 3 or 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from parcast.errors import (
    ParameterError,
    ParcastError,
    RunFailed,
    as_list,
    as_number,
    as_whole,
    require,
)
from parcast.kernels.kernel import KernelRun
from parcast.kernels.registry import KERNELS
from parcast.kernels.validating.program import LONGEST, Task, validated
from parcast.kernels.validating.result import ValidatedProgram, Validation
from parcast.kernels.validating.runs import Progress, Runner, Stopwatch
from parcast.kernels.validating.subject import Subject, subject_named
from parcast.signals import as_interrupts

MOST_RANKS = 4096


def validate(
    names: str | Iterable[str],
    *,
    p: Iterable[int] = (1, 2),
    sizes: Iterable[float] | None = None,
    calibrate_with: Iterable[float] | None = None,
    repetitions: int = 4,
    longest: float = LONGEST,
    quick: bool = False,
    seed: int = 0,
    time_limit: float | None = None,
    runner: Runner | None = None,
    subject: Callable[[str], Subject] | None = None,
    progress: Progress | None = None,
) -> Validation:
    """Test laws on this machine: calibrate, predict larger runs, run them and compare.

    Parameters
    ----------
    names : str or sequence of str
        Programs, such as "sort"; "all" is every one of `parcast.kernels.registry.KERNELS`.
    p : sequence of int, default (1, 2)
        Processor counts (MPI ranks) to predict and run. The law is calibrated with 1, 2, the
        largest and one of them that lies well between. [1]
    sizes : sequence of float, optional
        Problem sizes to predict. By default 4 to 10 times the largest calibrated one. [1]
    calibrate_with : sequence of float, optional
        Problem sizes to calibrate with, two or more. By default four that take up to 0.06 s. [1]
    repetitions : int, default 4
        Runs of each predicted size and count, in half as many launches; more where runs are
        disturbed. [1]
    longest : float, default 5
        Longest time of a predicted run on one processor; sizes are chosen for it. [s]
    quick : bool, default False
        Use smaller sizes and fewer launches: two minutes for all programs, and wider intervals.
    seed : int, default 0
        Seed of inputs, orders and resampling.
    time_limit : float, optional
        After this time no launch begins, for all programs together. [s]
    runner : callable, optional
        Function that runs a program. By default `parcast.run_kernel`.
    subject : callable, optional
        Function that returns a program and its law by name. By default that of the programs that
        come with parcast.
    progress : callable, optional
        Called with the amount done and the amount of all.

    Returns
    -------
    Validation
        Measured and predicted times [s], and whether each law holds. After Ctrl-C, SIGTERM or the
        time limit, what was compared until then.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, or a program is unknown.
    RunFailed
        If the only program fails; of several, the others continue.
    FitFailed
        If the time limit was reached before anything could be predicted.

    Examples
    --------
    >>> import parcast
    >>> print(parcast.validate("fractal", quick=True))  # doctest: +SKIP
    """
    subjects = _subjects(names, subject or subject_named)
    limits = {} if time_limit is None else {"time_limit": time_limit}
    for name, given in {"longest": longest, **limits}.items():
        ok = as_number(name, given, hint="Give it in seconds.") > 0
        require(name, given, ok, must="be above 0", hint="Give it in seconds.")
    task = Task(
        counts=_counts(p),
        sizes=_whole("sizes", sizes, fewest=1),
        calibrate_with=_whole("calibrate_with", calibrate_with, fewest=2),
        repetitions=as_whole(
            "repetitions", repetitions, least=1, hint="Use 2 or more to see how they differ."
        ),
        longest=longest,
        is_quick=quick,
        seed=as_whole("seed", seed, least=0, hint="Use any whole number."),
        runner=runner or _run_kernel,
    )
    watch = Stopwatch(limit=time_limit)
    validated_ones: list[ValidatedProgram] = []
    failures: dict[str, str] = {}
    left_out: tuple[str, ...] = ()
    for i, each in enumerate(subjects):
        watch.progress = _part(progress, i, len(subjects))
        watch.done = watch.total = 0.0
        try:
            with as_interrupts():  # between launches too
                validated_ones.append(validated(task, each, watch))
        except KeyboardInterrupt:
            if not validated_ones:
                raise
            left_out = tuple(x.name for x in subjects[i:])
            break
        except (ParcastError, OSError) as failure:
            if len(subjects) == 1:
                raise
            failures[each.name] = str(failure)
        if watch.interrupted:
            left_out = tuple(x.name for x in subjects[i + 1 :])
            break
    if not validated_ones:
        why = "; ".join(f"{name}: {text}" for name, text in failures.items())
        raise RunFailed(f"No program could be validated. {why}")
    return Validation(
        programs=tuple(validated_ones), failures=failures, left_out=left_out, seed=seed
    )


def _subjects(names: str | Iterable[str], subject: Callable[[str], Subject]) -> list[Subject]:
    """Programs by their names, each once."""
    hint = "Give a name such as sort, or all."
    programs = [names] if isinstance(names, str) else as_list("names", names, hint=hint)
    programs = list(KERNELS) if programs == ["all"] else programs
    if not programs:
        raise ParameterError("names", must="be programs", got="none", hint=hint)
    return [subject(name) for name in dict.fromkeys(programs)]


def _counts(p: Iterable[int]) -> tuple[int, ...]:
    """Check rank counts, and put them in order."""
    hint = "Give counts such as 1, 2 and 4."
    counts = sorted({as_number("p", x, hint=hint) for x in as_list("p", p, hint=hint)})
    if not (counts and all(1 <= x <= MOST_RANKS and x == int(x) for x in counts)):
        got = ", ".join(f"{x:g}" for x in counts)
        must = f"be counts from 1 to {MOST_RANKS}"
        raise ParameterError("p", must=must, got=f"[{got}]", hint=hint)
    return tuple(map(int, counts))


def _run_kernel(name: str, **options: Any) -> tuple[KernelRun, ...]:
    """Run a program on ranks that are started."""
    from parcast.kernels.run import run_kernel

    return run_kernel(name, **options)


def _whole(name: str, given: Iterable[float] | None, *, fewest: int) -> tuple[int, ...] | None:
    """Check problem sizes and put them in order, each once."""
    if given is None:
        return None
    must, hint = "be whole numbers of at least 1", "Give a size such as 1e6."
    values = [as_number(name, x, hint=hint) for x in as_list(name, given, hint=hint)]
    for value in values:
        is_whole = 1 <= value < 2**53 and value == int(value)
        require(name, value, is_whole, must=must, hint=hint)
    sizes = tuple(sorted({int(value) for value in values}))
    if len(sizes) < fewest:
        raise ParameterError(
            name,
            must=f"be at least {fewest} size{('s' if fewest > 1 else '')}",
            got=f"{len(sizes)}",
            hint="Give sizes such as 1e5, 2e5.",
        )
    return sizes


def _part(progress: Progress | None, i: int, of: int) -> Progress | None:
    """Make the progress of one program that of all."""
    if progress is None:
        return None

    def tell(done: int, total: int | None) -> None:
        progress(i * 1000 + (1000 * done // total if total else 0), of * 1000)

    return tell
