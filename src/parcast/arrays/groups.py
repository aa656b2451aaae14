"""`parcast arrays`: commands on files of arrays, found by their places."""

from typing import Final

from parcast.cli.parts import CommandParts

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
    short_help="Check stores of arrays.",
)
