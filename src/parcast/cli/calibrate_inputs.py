"""What `parcast calibrate` begins with: parts to measure, what files tell, what it needs."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from parcast.units import shown

if TYPE_CHECKING:
    from parcast.io.formats.machine_figures import MachineFigures

PARTS: Final = ("processor", "network", "primitives", "storage")
# What must be told of a part so that it need not be measured. Primitives are replaced one by one.
WHOLE: Final = {
    "network": {"network.latency", "network.bandwidth", "network.saturation"},
    "storage": {"storage.bandwidth", "storage.read_bandwidth"},
}

MOST_RANKS: Final = 1024  # as `parcast.verbs.calibrate` has it, which is not loaded for this
NEEDS_MPI: Final = frozenset({"network", "primitives"})


def ranks(_: click.Context, __: click.Parameter, text: str) -> int:
    """Read the most ranks."""
    if not text.strip().isdecimal() or not 1 <= int(text) <= MOST_RANKS:
        raise click.UsageError(
            f"-np must be a whole number from 1 to {MOST_RANKS}, got {shown(text)}. Write such as "
            "-np 4."
        )
    return int(text)


def parts(_: click.Context, __: click.Parameter, text: str | None) -> tuple[str, ...] | None:
    """Read names of parts with commas between them, in the order of measuring."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    wrong = next((name for name in names if name not in PARTS), None)
    if wrong is not None:
        raise click.UsageError(
            f"--only must be some of {', '.join(PARTS)}, got {wrong!r:.60}. Write such as "
            "network,storage."
        )
    return tuple(part for part in PARTS if part in names)


def figures_of_files(files: Sequence[str]) -> list["MachineFigures"]:
    """Read the files of other benchmarks, those of one format together.

    Raises
    ------
    click.UsageError, FileProblems
        If one of them is of no benchmark, or cannot be read.
    """
    from parcast.errors import ParameterError
    from parcast.io.formats.registry import import_machine, recognised_format

    of_format: dict[str, list[str]] = {}
    for file in files:
        try:
            known = recognised_format([file])
        except ParameterError as refusal:
            raise click.UsageError(
                f"--from must be output of OSU, IMB or IOR, got {shown(file)}, which is not "
                "recognised as such. Look at how it begins."
            ) from refusal
        if known.makes != "machine":
            raise click.UsageError(
                f"--from must be output of OSU, IMB or IOR, got {known.title}: {shown(file)}. "
                "Import that with parcast import."
            )
        of_format.setdefault(known.name, []).append(file)
    return [import_machine(paths, name) for name, paths in of_format.items()]


def left_to_measure(asked: Sequence[str], told: Sequence["MachineFigures"]) -> tuple[str, ...]:
    """Leave out the parts of which the files tell enough.

    Raises
    ------
    click.UsageError
        If none is left.
    """
    known = {figure.key for each in told for figure in each.figures}
    left = tuple(part for part in asked if part not in WHOLE or not WHOLE[part] <= known)
    if not left:
        raise click.UsageError(
            f"--from tells all that is asked for ({', '.join(asked)}), so that nothing is left to "
            "measure. Use parcast import, or ask for more with --only."
        )
    return left


def require_means(only: Sequence[str], directory: str | None) -> None:
    """Refuse to begin where there is no MPI, or no place for files, that the parts need.

    Raises
    ------
    RunFailed
        If there is no MPI.
    click.ClickException
        If files cannot be written.
    """
    import tempfile

    from parcast.errors import RunFailed
    from parcast.run.mpi import find_mpi

    if not NEEDS_MPI.isdisjoint(only):
        try:
            find_mpi()
        except RunFailed as missing:
            raise RunFailed(
                f"{missing} Processor and storage can do without: --only processor,storage."
            ) from missing
    if "storage" in only:
        try:
            with tempfile.TemporaryFile(dir=directory or "."):
                pass
        except OSError as refusal:
            why = (refusal.strerror or str(refusal)).lower()
            raise click.ClickException(
                f"--directory must be a folder that can be written to, got "
                f"{shown(directory or os.getcwd())}: {why}. Choose another, or leave storage out "
                "with --only."
            ) from refusal
