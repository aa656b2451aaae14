"""The machine that tables of message benchmarks tell of, whichever suite wrote them."""

from collections.abc import Sequence
from pathlib import Path

from parcast.io.faults import Faults
from parcast.io.formats.collective_figures import collective_figures
from parcast.io.formats.machine_figures import MachineFigures, files_of
from parcast.io.formats.message_tables import Table
from parcast.io.formats.network_figures import network_figures


def machine_of_network(
    title: str, paths: Sequence[Path], tables: Sequence[Table], notes: list[str], *, hint: str
) -> MachineFigures:
    """Figures of network and primitives, with notes on them added to `notes`.

    Parameters
    ----------
    title : str
        The suite.
    paths : sequence of path
        Its files, at least one.
    tables : sequence of Table
        What was read of them.
    notes : list of str
        What is to be said so far.
    hint : str
        What to import, where nothing tells of a machine.

    Raises
    ------
    FileProblems
        If nothing in the tables tells of a machine.
    """
    figures = [*network_figures(tables, notes)]
    primitives, remarks = collective_figures(tables, notes)
    if not (figures or primitives or remarks):
        Faults(str(paths[0])).refuse("must tell of a network. " + (" ".join(notes) or hint))
    return MachineFigures(
        source=files_of(title, paths),
        figures=(*figures, *primitives),
        remarks=tuple(remarks),
        notes=tuple(notes),
    )
