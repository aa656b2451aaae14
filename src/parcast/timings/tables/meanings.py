"""What the columns of a table are whose titles are not those of parcast.

A title decides where it fits one column only: `ranks` for the processors, `Wall time (min)` for
the time, `SYPD` for a rate. Where several could be meant the table is refused with the options
that choose; nothing is taken by its numbers alone, but for the ranks of one run, which count from
0.
"""

from parcast.timings.tables.beside import find_beside
from parcast.timings.tables.cells import read_shown
from parcast.timings.tables.header import Header
from parcast.timings.tables.measured import find_measured
from parcast.timings.tables.processors import find_p
from parcast.words import whole


def understand(header: Header) -> None:
    """Decide what the open columns of a header are, or note why that cannot be decided."""
    find_p(header)
    find_measured(header)
    if not header.is_verbatim:
        find_beside(header)
    _say_products(header)


def _say_products(header: Header) -> None:
    """Say that cells such as (1, 4) or 4x2 are read as their product."""
    for i, column in enumerate(header.columns):
        if column and not column.is_text and column.name != "time":
            cells = [x for x in header.cells(i) if read_shown(x).factors]
            if cells:
                product = read_shown(cells[-1]).value
                header.said.append(f"{column.title} {cells[-1]} is read as {whole(product)}")
