"""`parcast arrays verify`: whether stores of arrays are whole, and what of them is lost."""

from collections.abc import Sequence
from typing import Final

import click

from parcast.cli.answering import A_FILE, cli_command
from parcast.cli.failures import ANSWER_IS_NO, ANSWERED, BAD_FILE, NOT_CHECKED
from parcast.cli.options import all_option, answer_options, flag
from parcast.cli.outputs import ANSWERS, Outputs
from parcast.cli.parts import CommandParts
from parcast.cli.screen import Progress, tell
from parcast.errors import FileProblems
from parcast.units import format_quantity

ARRAYS: Final = {
    "verify": "parcast.arrays.store.command:command",
}

ARRAYS_HELP: Final = """Check files of arrays that parallel programs have written.

`parcast arrays COMMAND --help` explains a command.

\b
Exit status: 0  answered
             1  answered, and the answer is no: one is damaged
             2  wrong use, or an output that cannot be written
             3  a file cannot be read, or is no store

\b
Examples:
  parcast arrays verify out.zarr
  parcast arrays verify checkpoints/*.zarr --json
"""

arrays = CommandParts(
    "arrays",
    ARRAYS,
    help=ARRAYS_HELP,
)


HELP: Final = """Check stores of arrays: every byte that has a checksum, and every file.

STORE is a Zarr 3 store or a .npy file. Each fault is named with its array, chunk and subchunk,
the bytes of its file, and the elements that are lost; all others can be read. What an interrupted
write has left beside the store is named with its process, when it began, and how far it was.
Nothing is changed without --sweep.

\b
Exit status: 0  every STORE is whole
             1  one is damaged, incomplete or not there
             2  wrong use, or an output that cannot be written
             3  a STORE does not exist, or is none
             4  --sweep: a STORE is being written
             5  no damage was found, but not all could be checked

\b
Examples:
  parcast arrays verify out.zarr
  parcast arrays verify checkpoints/*.zarr --json
  parcast arrays verify out.zarr --sweep
"""


@cli_command(name="verify", help=HELP, short_help="Check stores: damage, and interrupted writes.")
@click.argument("stores", metavar="STORE...", nargs=-1, required=True, type=A_FILE)
@flag(
    "--sweep",
    "First finish or remove what interrupted writes have left, and shared memory of MPI "
    "that killed ranks have left.",
)
@all_option
@answer_options(ANSWERS)
def command(
    ctx: click.Context,  # noqa: ARG001 - the first argument of every command
    /,
    *,
    stores: Sequence[str],
    sweep: bool,
    show_all: bool,
    outputs: Outputs,
) -> int:
    """Answer the question and return the exit status."""
    outputs.check()
    from parcast.arrays.store.verification import Verifications
    from parcast.arrays.store.verify import verify
    from parcast.arrays.store.versions import sweep as swept
    from parcast.mpi.leftovers import remove_shared_memory

    checked, problems = [], []
    if sweep and (size := remove_shared_memory()):
        freed = format_quantity(float(size), "size")
        tell(f"Shared memory of ranks that were killed was removed: {freed}.")
    with Progress("checking") as progress:
        for number, store in enumerate(dict.fromkeys(stores)):
            progress(number, len(stores), task=f"checking {store}")
            try:
                if sweep:
                    for done in swept(store):
                        tell(f"{store}: {done}.")
                checked.append(verify(store))
            except FileProblems as failure:
                if len(stores) == 1:
                    raise
                problems.append((store, failure.problems[0].message))
    result = Verifications(stores=tuple(checked), problems=tuple(problems))
    if checked or outputs.as_json or outputs.paths:
        outputs.give(result, show_all=show_all)
    for store, message in problems:
        tell(f"{store}: {message}")
    if problems:
        return BAD_FILE
    if result.is_bad:
        return ANSWER_IS_NO
    return ANSWERED if result.is_sound else NOT_CHECKED
