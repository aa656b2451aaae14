"""Results of IOR, whatever form they are in: a row for each access, with its line.

All three forms give rates in MiB/s (2^20 B/s), sizes in KiB in the results and in bytes among the
parameters, and times in seconds. JSON is searched for the flat objects that hold results and not
parsed as a whole: releases before 4 write it with commas too many, brackets too few, quotes that
are not escaped, and `nan` or `inf`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from parcast.io.faults import Faults
from parcast.io.formats.content import CUT_OFF
from parcast.units import shown

Form = Literal["text", "json", "csv", "mdtest"]
LARGEST = 1e12  # MiB/s, or seconds: more than any storage moves, or any test takes
MEBIBYTE = 2.0**20  # [B]
COLUMNS: Final = {  # what each form calls them, without the unit
    "rate": ("bw", "bwmib"),
    "open": ("open", "opentime"),
    "total": ("total", "totaltime"),
}
BANNER = re.compile(r"^[ \t]*IOR-\S{1,60}: MPI Coordinated Test", re.MULTILINE)
CSV = re.compile(r"\s*access,bw\(MiB/s\)", re.IGNORECASE)
MDTEST = re.compile(r"^mdtest-\S+ was launched|^-- started at [^\n]*\n\s*mdtest-", re.MULTILINE)
RESULT = re.compile(r'"access"\s*:\s*"(write|read)"')
FLAT = re.compile(r"\{[^{}]*\}")
PAIR = re.compile(r'"(\w+)"\s*:\s*("[^"\n]*"|[^\s,}]+)')
ITS_KEY = re.compile(r'"(?:bwMiB|blockKiB|refnum|testFileName)"\s*:')
BEGUN = re.compile(r'"(?:tests|Results|Command line)"\s*:')


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One access of one repetition."""

    access: str  # "write" or "read"
    rate: float  # with opening and closing [B/s]
    open: float | None  # [s]
    total: float | None  # [s]


def form_of(text: str) -> Form | None:
    """Tell which form a file has, from how it begins; None where it is none of IOR."""
    if MDTEST.search(text[:4096]):
        return "mdtest"
    if CSV.match(text):
        return "csv"
    if text.lstrip().startswith("{"):
        return "json" if BEGUN.search(text) and ITS_KEY.search(text) else None
    return "text" if BANNER.search(text) else None


def runs_of(text: str, form: Form, faults: Faults, notes: list[str]) -> list[Run]:
    """Read the results of a file.

    Parameters
    ----------
    text : str
        The file.
    form : {"text", "json", "csv"}
        Its form.
    faults : Faults
        Where to note what is wrong.
    notes : list of str
        Where to add what a reader must know.

    Returns
    -------
    list of Run
        At least one, in their order.

    Raises
    ------
    FileProblems
        If there are no results, or one is no rate above 0.
    """
    rows = _of_json(text, faults, notes) if form == "json" else _of_table(text, form, faults)
    runs = [run for line, row in rows if (run := _run(row, line, faults)) is not None]
    if len(faults):
        faults.raise_all()
    if not runs:
        faults.refuse(f"must have results of write or read, got none. {CUT_OFF}")
    return runs


def _of_json(text: str, faults: Faults, notes: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Go through the flat objects that hold results."""
    name = shown(faults.path.rpartition("/")[2])
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        if '"Finished"' not in text:
            line = getattr(error, "lineno", None)
            faults.refuse(f'must be whole, got its end before "Finished". {CUT_OFF}', line=line)
        notes.append(
            f"{name} is no valid JSON, as some releases of IOR write it: its results were read "
            "one by one."
        )
    line, last = 1, 0
    for found in FLAT.finditer(text):
        access = RESULT.search(found[0])
        if access is None:
            continue
        at = found.start() + access.start()
        line, last = line + text.count("\n", last, at), at
        row = {key.casefold(): value.strip('"') for key, value in PAIR.findall(found[0])}
        yield line, row | {"access": access[1]}


def _of_table(text: str, form: Form, faults: Faults) -> Iterator[tuple[int, dict[str, str]]]:
    """Go through the rows below the header that begins with "access"."""
    separator = "," if form == "csv" else None
    columns: Sequence[str] = ()
    for line, row in enumerate(text.splitlines(), start=1):
        words = [word.strip() for word in row.split(separator)]
        if not words:
            continue
        if words[0] == "access" and len(words) > 2:
            columns = [re.sub(r"\(.*", "", word).casefold() for word in words]
        elif words[0] in {"write", "read"} and columns:
            if len(words) != len(columns):
                faults.add(
                    f"must have {len(columns)} columns, got {len(words)}. {CUT_OFF}", line=line
                )
                continue
            yield line, dict(zip(columns, words, strict=True))
        elif row.startswith("Summary of all tests"):  # its rows begin as those of results do
            columns = ()


def _run(row: dict[str, str], line: int, faults: Faults) -> Run | None:
    """Read one result, or note what is wrong with it."""
    values: dict[str, float | None] = {}
    for name, titles in COLUMNS.items():
        word = next((row[title] for title in titles if title in row), "-")
        values[name] = _number(word)
        if name == "rate" and not (values[name] or 0) > 0:
            got = shown(repr(word), limit=24)
            faults.add(
                f"must be a rate above 0, got {got}. Run it again, or leave this result out.",
                line=line,
                field="bw",
            )
            return None
    rate = values["rate"]
    assert rate is not None  # checked above
    return Run(
        access=row["access"],
        rate=rate * MEBIBYTE,
        open=values["open"],
        total=values["total"],
    )


def _number(word: str) -> float | None:
    """Read a number of at least 0 that can be one of a test, or None."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if 0 <= value <= LARGEST else None
