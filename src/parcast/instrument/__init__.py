"""Times the regions of a program while it runs, and writes what they took to a file.

    import parcast

    parcast.profile_parameters(n=512)
    for step in range(100):
        with parcast.region("sweep", iterations=rows * columns):
            ...
        with parcast.region("halo", kind="halo", volume=8 * columns):
            ...

    $ PARCAST_PROFILE=jacobi.jsonl mpiexec -n 2 python jacobi.py

Where the environment names no PARCAST_PROFILE nothing is timed, and a region costs next to
nothing. Where it does, every rank adds one line to that file when it ends, without a message to
the others: the file may be on a disk that all share, and it takes the lines of further runs too. A
rank that is killed leaves no line, and the reader says which are missing.

MPI is asked for the rank where the program has loaded it, and the launcher's environment where it
has not. One thread of a rank is timed, that of the first region. A region ends where it began: in
a generator or a coroutine it must not last over a yield or an await. Neither NumPy nor MPI is
loaded.
"""

from parcast.instrument.regions import PROFILING, cost_of_a_region, profile_parameters, region

__all__ = ["PROFILING", "cost_of_a_region", "profile_parameters", "region"]


def __dir__() -> list[str]:
    """List the public names, and what every module has."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
