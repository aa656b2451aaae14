"""One page of several results."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Final

from parcast.errors import ParameterError
from parcast.files.document import ending_of
from parcast.show.page.page import answer_for, save_page
from parcast.show.result import Result

MOST: Final = 100  # results of a page


def report(
    results: Result | Iterable[Result], path: str | PathLike[str], *, title: str = ""
) -> None:
    """Write results as one page: a file that opens in any browser, without a network.

    What each result is worth comes first, then its pictures and tables, then where it comes from:
    the method, its sources, and the files it was made from with their hashes.

    Parameters
    ----------
    results : result or iterable of results
        What other functions of parcast give, such as `parcast.forecast` and `parcast.load`.
    path : str or path
        The file to write, which ends in ``.html``.
    title : str, optional
        Title of the page. By default that of the only result, or "Report".

    Raises
    ------
    ParameterError
        If there is no result, if something is none, or if the path ends otherwise.
    OSError
        If the file cannot be written; what was there before is still there.

    Examples
    --------
    >>> import parcast, tempfile
    >>> told = parcast.forecast({"p": [1, 2, 4], "time": [8.0, 4.5, 2.8]}, 16)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parcast.report([told], f"{folder}/report.html")
    """
    ending_of(path, (".html",))
    every = [results] if isinstance(results, Result) else list(results)
    for one in every:
        if not isinstance(one, Result):
            raise ParameterError(
                "results",
                must="be results of parcast",
                got=f"a {type(one).__name__}",
                hint="Give for example parcast.forecast(...).",
            )
    if not 0 < len(every) <= MOST:
        raise ParameterError(
            "results",
            must=f"be 1 to {MOST} results",
            got=str(len(every)),
            hint="Write several pages." if every else "Give at least one.",
        )
    answers = [answer_for(one, number) for number, one in enumerate(every, start=1)]
    save_page(path, answers, title=title)
