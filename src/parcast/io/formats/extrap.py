"""Profiles of Extra-P: its text format, both dialects of its JSON, and JSON Lines.

The values of a metric are in seconds unless its name ends in another unit. In text, `DATA` lines
stand in the order of the points; in JSON each measurement names its point.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from parcast.io.faults import Faults
from parcast.io.formats.axes import Constants
from parcast.io.formats.content import first_line, json_document, parsed, text_lines
from parcast.io.formats.extrap_json import Packing, add_document, add_object, is_object_line
from parcast.io.formats.extrap_text import add_text
from parcast.io.formats.imported import Imported
from parcast.io.formats.runs import Runs

TEXT = re.compile(rb"\s*(#[^\n]*\n\s*)*PARAMETER[ \t]+\S")
OBJECT = re.compile(rb"\s*\{")
BEGUN = re.compile(r'\{\s*"params"\s*:')  # a line of JSON Lines, even if it is cut off
DOCUMENT = re.compile(rb'"parameters"\s*:\s*\[')
PARTS = re.compile(rb'"(measurements|callpaths|coordinates)"\s*:\s*[\[{]')


def recognises(head: bytes, path: Path) -> bool:  # noqa: ARG001 - every format is given the path
    """Tell by its first bytes whether a file is a profile of Extra-P."""
    head = head.removeprefix(b"\xef\xbb\xbf")
    first = head.lstrip().split(b"\n", 1)[0]
    if TEXT.match(head) or is_object_line(first):
        return True
    return bool(OBJECT.match(head) and DOCUMENT.search(head) and PARTS.search(head))


def read(
    paths: Sequence[Path],
    *,
    metric: str | None = None,
    rename: Mapping[str, str] | None = None,
    constants: Constants | None = None,
) -> Imported:
    """Read profiles of Extra-P, one after the other.

    Parameters
    ----------
    paths : sequence of path
        The files, in any of the four forms.
    metric : str, optional
        The metric that is the time. Default: the only one, or the only one called a time.
    rename : mapping of str to str, optional
        New names of parameters: ``{"processes": "p"}``.
    constants : mapping, optional
        Axes that the files do not tell: ``{"p": 64}``.

    Returns
    -------
    Imported
        One row for each value; the metric in seconds.

    Raises
    ------
    FileProblems
        If a file is not in any of these forms, or its values are no times.
    ParameterError
        If what is to be renamed is not there.
    """
    runs = Runs(rename=rename, constants=constants)
    for path in paths:
        faults = Faults(str(path))
        match _form(path, faults):
            case "text":
                add_text(text_lines(path, faults), runs, faults)
            case "lines":
                for line, text in text_lines(path, faults):
                    add_object(parsed(text, faults, line=line), line, runs, faults)
            case _:  # not bound to a name, which would keep it while the table is built
                packing = Packing()
                add_document(json_document(path, faults, hook=packing), packing, runs, faults)
                del packing
    return runs.imported(faults, metric=metric)


def _form(path: Path, faults: Faults) -> str:
    """Tell the form by the first line that holds something."""
    first = first_line(path, faults)
    if not first.startswith("{"):
        return "text"
    return "lines" if is_object_line(first) or BEGUN.match(first) else "document"
