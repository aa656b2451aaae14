"""Results of parcast that were saved as JSON: the runs that they were made from."""

import re
from pathlib import Path

from parcast.errors import FileProblems
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs
from parcast.saved.load import document_in, runs_in

START = re.compile(rb'\s*\{\s*"schema"\s*:\s*"parcast/')


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is the document of a result."""
    return bool(START.match(head))


def read(runs: Runs, metric: str | None) -> Imported:
    """Take the runs of one document."""
    runs.refuse_metric(metric, but="time_s")
    (path, faults), *others = runs.files()
    if others:
        faults.refuse("must be given alone: a saved result is read by itself.")
    try:
        document = document_in(path)
    except FileProblems as problems:
        raise FileProblems(faults.path, problems.problems) from None
    found = runs_in(document)
    if found is None:
        faults.refuse(
            f"must hold the runs that it was made from, which {document['schema']} does not. Give "
            "a forecast, or the table of runs."
        )
    return Imported(measurements=found)


FORMAT = Format(title="Saved result of parcast, JSON", recognises=recognises, timings=read)
