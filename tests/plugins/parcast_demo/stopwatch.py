"""Sheets of a stopwatch: the line `stopwatch`, then lines such as `4 ranks: 12.5 12.7`."""

import re

from parcast.importers.content import text_lines
from parcast.importers.registry import Format

LINE = re.compile(r"(\d+) ranks: ([\d. ]+)")


def recognises(head, _):
    """Tell by its first bytes whether a file is a sheet of the stopwatch."""
    return head.startswith(b"stopwatch\n")


def read(runs, metric):
    """Take in a row for each time."""
    for path, faults in runs.files():
        for line, text in text_lines(path, faults):
            found = LINE.fullmatch(text)
            if found:
                times = [float(time) for time in found[2].split()]
                runs.add({"ranks": int(found[1])}, times, faults, metric="time_s", line=line)
            elif line > 1:
                faults.refuse(
                    f"must be such as 4 ranks: 12.5, got {text!r:.40}. Correct the line.",
                    line=line,
                )
    return runs.imported(metric=metric)


FORMAT = Format(title="Sheets of the stopwatch", recognises=recognises, timings=read)
