"""The text of a table of measurements, as `write_measurements` writes it, for standard output."""

import csv
import io
from collections.abc import Iterator

from parcast.timings.measurements import Measurements
from parcast.timings.read_csv import written_rows

ROWS_AT_A_TIME = 4096  # in one piece of text


def measurements_pieces(measurements: Measurements) -> Iterator[str]:
    r"""Text of a CSV file, piece by piece, which `read_measurements` reads back equal.

    >>> "".join(measurements_pieces(Measurements(p=[1, 2], time=[8.0, 4.5])))
    'p,time_s\n1,8.0\n2,4.5\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for i, row in enumerate(written_rows(measurements), start=1):
        writer.writerow(row)
        if i % ROWS_AT_A_TIME == 0:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()
