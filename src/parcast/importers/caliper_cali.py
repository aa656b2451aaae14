"""Caliper's own `.cali` files, through the reader that hatchet uses (the extra `caliper`).

Records are taken in one by one, and of each only its path, its rank and its times are kept: the
memory needed is 24 bytes a time. Hatchet itself would keep every record.
"""

from collections.abc import Iterator
from os import SEEK_END
from pathlib import Path
from typing import Any

from parcast.errors import FileProblems
from parcast.files.decoding import opened
from parcast.files.faults import Faults
from parcast.importers.caliper_columns import Records, TimeColumn, time_column
from parcast.importers.content import library, text_lines
from parcast.units import shown

WITHOUT = (
    "Without it, turn the file into JSON, which needs no library: "
    "cali-query -q 'select * format json-split' {path} > profile.json, and import that."
)
CUT_OFF = "The file may have been cut off: copy it again."


def records_of_cali(path: Path, faults: Faults) -> Records:
    """Read a `.cali` file, which needs the caliper-reader that hatchet brings."""
    lines = text_lines(path, faults)
    first = next(lines)
    reader = library("caliperreader", faults, extra="caliper", otherwise=WITHOUT)
    stream = reader.CaliperStreamReader()
    records = Records(faults)
    columns: dict[str, TimeColumn | None] = {}
    place = [0]

    def numbered() -> Iterator[str]:
        """Give the lines, and keep in mind which one is being read."""
        for number, text in [first]:
            place[0] = number
            yield text
        for number, text in lines:
            place[0] = number
            yield text

    def take(record: dict[str, Any]) -> None:
        """Keep what is a time of a region."""
        for name in record:
            if name not in columns:
                unit = stream.attribute(name).get("attribute.unit") if name in known else None
                columns[name] = time_column(name, unit)
        times = {x: record[x.name] for x in map(columns.get, record) if x is not None}
        if times and record.get("spot.channel", "regionprofile") == "regionprofile":
            regions = record.get("path", [])
            path_of_regions = tuple(regions) if isinstance(regions, list) else (regions,)
            records.add(path_of_regions, record.get("mpi.rank"), times, line=place[0])

    known = stream.db.attributes
    try:
        stream.read(numbered(), take)
    except FileProblems:
        raise
    except Exception as error:  # from a bad record: ReaderError, KeyError, AttributeError ...
        why = shown(f"{type(error).__name__}: {error}", limit=60)
        faults.refuse(f"must be a record of Caliper, got {why}. {CUT_OFF}", line=place[0])
    if not stream.globals or not _ends_with_a_whole_line(path):
        faults.refuse(f"must end with a whole record __rec=globals, got none. {CUT_OFF}")
    records.metadata = dict(stream.globals)
    return records


def _ends_with_a_whole_line(path: Path) -> bool:
    """Tell whether the last line ends: half of a reference to a node is one to another."""
    with opened(path) as (_, stream):
        stream.seek(-1, SEEK_END)
        return stream.read(1) == b"\n"
