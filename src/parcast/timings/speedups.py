"""Tables of timings or of speedups for a fit.

A table of speedups has a column `speedup` in place of a time, or a pair `metric,value` whose
metric is `speedup`. Speedups s(p, d) are over one processor and one disk; they are kept as times
in units of the time there, 1/s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from parcast.timings.measurements import Measurements
from parcast.timings.tables.files import Source, read_measurements


def read_runs(
    source: Source,
    *,
    ignore: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
) -> tuple[Measurements, Literal["time", "speedup"]]:
    r"""Read a table of timings or of speedups, and say which it is.

    Parameters
    ----------
    source : path, "-" or stream
        The file; "-" is standard input.
    ignore : sequence of str, optional
        Columns to ignore.
    columns : mapping of str to str, optional
        Columns with other names in the file: ``{"p": "nodes"}``.

    Returns
    -------
    measurements : Measurements
        As `read_measurements` gives them; of speedups the times are 1/s.
    quantity : str
        "time" or "speedup", as `fit` takes it.

    Raises
    ------
    FileProblems
        If something in the file is wrong: all faults, with their lines.

    Examples
    --------
    >>> import io
    >>> runs, quantity = read_runs(io.StringIO("p,d,speedup\n2,1,1.6\n4,1,2.5\n"))
    >>> quantity, runs.time
    ('speedup', array([0.625, 0.4  ]))
    """
    runs = read_measurements(source, ignore=ignore, columns=columns)
    return runs, "speedup" if runs.measure.is_relative else "time"
