"""`parcast calibrate`: measure this machine, and write the file that describes it."""

import os
import shlex
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.advice import Choice, File, ours
from parcast.cli.answering import A_FILE, cli_command
from parcast.cli.batch_script import Allocation, wrapped
from parcast.cli.failures import ANSWERED, INTERRUPTED, own_options, spelled_with
from parcast.cli.options import TIME, Read, flag, json_option, name_option, option, output_option
from parcast.cli.outputs import (
    ANSWERS,
    Outputs,
    do_each,
    format_of,
    place_of_part,
    print_pieces,
    tell_written,
    write_all,
    write_sheets,
)
from parcast.cli.parts import with_parts
from parcast.cli.screen import show_sheet, tell
from parcast.files.numbers import whole
from parcast.show.result import DOCUMENTS
from parcast.units import shown
from parcast.version import __version__

if TYPE_CHECKING:
    from parcast.calibration.benchmarks.machine_figures import MachineFigures
    from parcast.calibration.result import Calibration


PARTS: Final = ("processor", "network", "primitives", "storage")
COMMANDS: Final = {  # of their own below `calibrate`, by place
    "array-io": "parcast.arrays.calibration.command:command",
}
# What must be told of a part so that it need not be measured. Primitives are replaced one by one.
WHOLE: Final = {
    "network": {"network.latency", "network.bandwidth", "network.saturation"},
    "storage": {"storage.bandwidth", "storage.read_bandwidth"},
}

MOST_RANKS: Final = 1024  # as `parcast.calibration.calibrate` has it, which is not loaded for this
NEEDS_MPI: Final = frozenset({"network", "primitives"})


def ranks(text: str, option: str) -> int:
    """Read the most ranks."""
    most = whole(text, least=1, most=MOST_RANKS)
    if most is None:
        raise click.UsageError(
            f"{option} must be a whole number from 1 to {MOST_RANKS}, got {shown(text)}. "
            f"Write for example {option} 4."
        )
    return most


def parts(text: str, option: str) -> tuple[str, ...]:
    """Read names of parts with commas between them, in the order of measuring."""
    names = [name.strip() for name in text.split(",")]
    wrong = next((name for name in names if name not in PARTS), None)
    if wrong is not None:
        raise click.UsageError(
            f"{option} must be some of {', '.join(PARTS)}, got {wrong!r:.60}. Write for example "
            "network,storage."
        )
    return tuple(part for part in PARTS if part in names)


def figures_of_files(files: Sequence[str]) -> list["MachineFigures"]:
    """Figures of the files of other benchmarks, those of one format read together."""
    from parcast.errors import ParameterError
    from parcast.importers.registry import import_machine, recognised_format

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
                f"Import that: {ours('import', File(file), '-o', 'timings.csv')}"
            )
        of_format.setdefault(known.name, []).append(file)
    return [import_machine(paths, name) for name, paths in of_format.items()]


def left_to_measure(
    requested: Sequence[str], others: Sequence["MachineFigures"]
) -> tuple[str, ...]:
    """Parts that the files do not cover; it is wrong use if none is left."""
    known = {figure.key for each in others for figure in each.figures}
    left = tuple(part for part in requested if part not in WHOLE or not WHOLE[part] <= known)
    if not left:
        every = ours("import", Choice("FILES"), "-o", "machine.toml")
        raise click.UsageError(
            f"--from gives everything to be measured ({', '.join(requested)}), so that nothing is "
            f"left to measure. Use {every}, or ask for more with --only."
        )
    return left


def require_means(only: Sequence[str], directory: str | None) -> None:
    """Refuse to begin where there is no MPI, or no place for files, that the parts need."""
    from parcast.errors import RunFailed
    from parcast.files.document import why_not_writable
    from parcast.mpi.find import find_mpi
    from parcast.needs import require_unix

    require_unix("Measuring a machine needs")
    if not NEEDS_MPI.isdisjoint(only):
        try:
            find_mpi()
        except RunFailed as missing:
            raise RunFailed(
                f"{missing} Processor and storage can do without: --only processor,storage."
            ) from missing
    if "storage" in only and (why := why_not_writable(directory or ".")):
        raise click.ClickException(
            f"--directory must be a folder that can be written to, got "
            f"{shown(directory or os.getcwd())}: {why}. Choose another, or leave storage out "
            "with --only."
        )


HELP = """Measure this machine and write its description.

Prints the speed of processor, network, communication primitives and storage, each with its 90%
interval. -o here.toml writes the machine file for `parcast predict`. Each part is measured in
several launches of MPI ranks (mpi4py and an MPI: pip install "parcast[mpi]") until the intervals
are narrow or the time limit is reached. Ctrl-C keeps what was measured.

--from reads output of the OSU, Intel MPI or IOR benchmarks instead of measuring these parts.

\b
Exit status: 0    measured, whether all intervals are narrow or not
             2    wrong use, or an output that cannot be written
             3    a file of --from cannot be read
             4    no MPI, or nothing could be measured
             130  interrupted; what was measured is written

\b
Examples:
  parcast calibrate -np 4 -o here.toml
  parcast calibrate -np 16 --slurm -o job.sh
"""


@cli_command(name="calibrate", help=HELP)
@click.argument("more", metavar="", nargs=-1, type=A_FILE)
@option(
    "-np ranks",
    Read("COUNT", ranks),
    "Number of MPI ranks. If there are more than cores, they share them.",
    default="2",
)
@output_option(
    "Write PATH: .toml (machine file), .json (everything), .csv (samples), .html, .md or .tex."
)
@flag("--quick", "Measure for less than 20 s, with wider intervals.")
@option("--only", Read("PARTS", parts), f"Parts to measure: {', '.join(PARTS)}.")
@option("--time-limit", TIME, 'Time after which measuring stops: "5 min", 90s.')
@option(
    "--directory",
    A_FILE,
    "Folder of the file system to measure. By default the current folder.",
    metavar="DIR",
)
@name_option
@json_option
@flag("--slurm", "Write a batch script that measures -np nodes with one rank each; run nothing.")
@option(
    "--from first",
    A_FILE,
    "Output files of OSU, IMB or IOR to use instead of measuring.",
    metavar="FILE...",
)
def calibrate_machine(
    ctx: click.Context,
    /,
    *,
    more: tuple[str, ...],
    first: str | None,
    outputs: tuple[str, ...],
    as_json: bool,
    slurm: bool,
    **options: Any,
) -> int:
    """Measure, write and return the exit status."""
    if more and first is None:
        raise click.UsageError(
            f"{more[0]!r:.60} is one argument too many. Write --from before the files of other "
            "benchmarks.",
            ctx,
        )
    files = [*([first] if first is not None else []), *more]
    if slurm:
        _write_script(ctx, options, files, outputs, as_json=as_json)
        return ANSWERED
    Outputs(outputs, as_json=as_json, formats=("toml", *ANSWERS)).check(files)
    others = figures_of_files(files)
    only = left_to_measure(options["only"] or PARTS, others)
    require_means(only, options["directory"])
    calibration = _measured(options, files, only)
    _write(calibration, others, options["name"], outputs, as_json=as_json)
    return INTERRUPTED if calibration.was_interrupted else ANSWERED


def _measured(
    options: dict[str, Any], files: Sequence[str], only: tuple[str, ...]
) -> "Calibration":
    """Measure what is left to measure."""
    from dataclasses import replace

    from parcast.calibration.calibrate import calibrate
    from parcast.cli.screen import Progress

    with spelled_with(own_options(), click.UsageError), Progress("measuring") as progress:
        calibration = calibrate(
            ranks=options["ranks"],
            quick=options["quick"],
            time_limit=options["time_limit"],
            only=only,
            directory=options["directory"],
            name=options["name"] or "",
            progress=lambda share, what: progress(share, 1.0, task=f"measuring {what}"),
        )
    inputs = {
        **(calibration.inputs or {}),
        "options": {**options, "only": list(only), "from": list(files)},
        "parcast": __version__,
    }
    return replace(calibration, inputs=inputs)


def _write(
    calibration: "Calibration",
    others: Sequence["MachineFigures"],
    name: str | None,
    outputs: Sequence[str],
    *,
    as_json: bool,
) -> None:
    from parcast.calibration.machine_file import calibration_document, machine_figures
    from parcast.files.document import csv_pieces, json_pieces, write_document

    figures = machine_figures(calibration, others=others, name=name)
    taken = {x.key: f"{x.text}, {x.source}" for each in others for x in each.figures}

    def write(output: str) -> None:
        ending = format_of(output)
        place = place_of_part(output) if calibration.was_interrupted else output
        if ending in DOCUMENTS:
            origin = calibration_document(calibration, figures)
            write_sheets(place, [calibration.to_sheet(taken=taken)], origin)
            tell_written(place)
            return
        pieces = (
            iter([figures.to_toml()])
            if ending == "toml"
            else json_pieces(calibration_document(calibration, figures))
            if ending == "json"
            else csv_pieces(calibration.table_rows())
        )
        write_document(place, pieces)
        tell_written(place)

    def show() -> None:
        if as_json:
            print_pieces(json_pieces(calibration_document(calibration, figures)))
        elif "-" in outputs:
            write_all(figures.to_toml())
        else:
            show_sheet(calibration.to_sheet(taken=taken))
        for note in figures.notes:
            tell(note)

    do_each([show, *(partial(write, output) for output in outputs if output != "-")])


def _write_script(
    ctx: click.Context,
    options: dict[str, Any],
    files: Sequence[str],
    outputs: Sequence[str],
    *,
    as_json: bool,
) -> None:
    """Write the batch script instead of measuring."""
    from parcast.files.document import write_document

    if as_json:
        raise click.UsageError("--json cannot be combined with --slurm. Leave one out.", ctx)
    if len(outputs) > 1:
        raise click.UsageError("--slurm writes one script: give -o once.", ctx)
    Outputs(outputs, formats=("sh", "slurm", "sbatch")).check(files)
    arguments = ["-np", str(options["ranks"]), "-o", "machine.toml", "-o", "machine.json"]
    arguments += ["--quick"] if options["quick"] else []
    arguments += ["--only", ",".join(options["only"])] if options["only"] else []
    if options["time_limit"] is not None:
        arguments += ["--time-limit", f"{options['time_limit']:g}s"]
    for each in ("directory", "name"):
        arguments += [f"--{each}", options[each]] if options[each] else []
    arguments += ["--from", *files] if files else []
    place = outputs[0] if outputs else "-"
    text = slurm_script(
        arguments,
        writes_files="storage" in (options["only"] or PARTS) and not options["directory"],
        ranks=options["ranks"],
        time_limit=options["time_limit"],
        script="job.sh" if place == "-" else os.path.basename(place),
    )
    if place == "-":
        write_all(text)
    else:
        write_document(place, [text])
        tell_written(place)


command = with_parts(calibrate_machine, COMMANDS)


LEAST: Final = 600.0  # that a job is given [s]
MARGIN: Final = 1.5  # times the time limit of the calibration: queues of a file system, starts
USUAL: Final = 1800.0  # where no time limit is asked for [s]

SCRIPT: Final = """\
#!/bin/sh
# Measures a cluster with parcast: one rank per node, so that messages cross the network.
# Check the lines marked EDIT, then submit the script: sbatch {script}
{directives}
# EDIT: make parcast, mpi4py and the MPI of the cluster available on every node.
# module load python openmpi
# . "$HOME/venv/bin/activate"

# EDIT: if ranks are started with srun instead of mpiexec, uncomment these lines.
# mkdir -p parcast-srun
# printf '#!/bin/sh\\nexec srun --mpi=pmix "$@"\\n' > parcast-srun/mpiexec
# chmod +x parcast-srun/mpiexec
# PATH="$PWD/parcast-srun:$PATH"

# Slurm and the MPI place the ranks; parcast does not pin them.
export PARCAST_PLACEMENT=free

{hint}{command}
"""
STORAGE: Final = """\
# EDIT: submit this from the file system that your programs write to, or add --directory DIR.
"""


def slurm_script(
    arguments: Sequence[str],
    *,
    ranks: int,
    time_limit: float | None,
    script: str,
    writes_files: bool = False,
) -> str:
    """Text of a batch script that runs ``parcast calibrate`` with these arguments on some nodes.

    The job is given more than the `time_limit` of the calibration [s]; `script` is its file's
    name.
    """
    allowed = max(MARGIN * time_limit, LEAST) if time_limit is not None else USUAL
    asked = Allocation(
        name="parcast-calibrate",
        nodes=ranks,
        ranks_per_node=1,
        is_exclusive=True,
        seconds=allowed,
        output="parcast-calibrate.{}.txt",
    )
    return SCRIPT.format(
        script=shlex.quote(script),
        directives=asked.directives(),
        hint=STORAGE if writes_files else "",
        command=wrapped(["parcast", "calibrate", *arguments]),
    )
