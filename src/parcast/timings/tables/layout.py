"""How the rows of a table stand in its lines: what separates cells, and the decimal mark.

Tables are read as they are where only one reading is possible: separated by commas, semicolons,
tabs, bars or blanks, drawn as Markdown or with boxes, with decimal points or commas. What could be
read in two ways is refused with the option that decides it, and what is no table by what it is.
"""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from parcast.advice import Command, File, ours
from parcast.errors import Argument, ParameterError, Text
from parcast.files.faults import Faults
from parcast.timings.tables.cells import decimal_marks, read_cell, read_shown
from parcast.timings.tables.options import DECIMALS, SEPARATOR_NAMES
from parcast.timings.tables.titles import title_of
from parcast.units import NUMBER

BLANKS: Final = "  "  # two or more, so that titles may contain one
BLANK: Final = " "
SEPARATORS: Final = {  # and what messages call them
    ",": "commas",
    ";": "semicolons",
    "\t": "tabs",
    "|": "bars",
    BLANKS: "blanks",
    BLANK: "blanks",
}
MOST_LOOKED_AT: Final = 2000  # rows that decide
MOST_ABOVE: Final = 10  # lines of text above a table
_BARS = str.maketrans(dict.fromkeys("\u2502\u2503\u2551\u2506\u250a", "|"))  # of boxes
_RULE = re.compile(r"[\s|+\-=:_~*.\u2500-\u257f]+")
_DASHES = "[-=_~\u2500-\u257f]"
_TIME_IN_LOG = r"(?i)\b(?:time|elapsed|runtime|wall|real|took)\b[^0-9,;|\t]{0,20}[0-9]"
_SEPARATOR_LINE = r'(?i)"?sep=(.)"?'
SACCT: Final = Command(
    ("sacct", "--parsable2", "--format=JobID,JobName,NTasks,AllocCPUS,ElapsedRaw,State")
)
_TOML_TABLE = r"\[\[?[A-Za-z_][\w. -]*\]\]?"
_SACCT = {"jobid", "jobidraw", "jobname", "alloccpus", "allocnodes", "elapsed", "state", "ncpus"}

Line = tuple[int, str]  # its number in the file, and its text


@dataclass(frozen=True, slots=True)
class LineLayout:
    """How a line is split into cells, and numbers are written."""

    separator: str = ","
    decimal: str = "."

    @property
    def is_plain(self) -> bool:
        """Whether it is that of CSV files."""
        return self.separator == "," and self.decimal == "."

    @property
    def name(self) -> str:
        """What messages call it: "semicolons and decimal commas"."""
        mark = " and decimal commas" if self.decimal == "," else ""
        return f"{SEPARATORS.get(self.separator, repr(self.separator))}{mark}"

    def split(self, texts: Sequence[str]) -> list[list[str]]:
        """Split lines into cells; `csv.Error` where quotation marks do not fit."""
        match self.separator:
            case " ":
                return [text.split() for text in texts]
            case "  ":
                return [re.split(r"\s{2,}|\t", text.strip()) for text in texts]
            case "|":
                return [_between_bars(text) for text in texts]
        return list(
            csv.reader(texts, strict=True, skipinitialspace=True, delimiter=self.separator)
        )

    def split_one(self, text: str) -> list[str]:
        """Split one line into cells."""
        [cells] = self.split([text])
        return cells


def is_row(text: str) -> bool:
    """Whether a line is neither a comment, nor a rule between rows, nor empty."""
    return bool(text.strip(", ;\t|")) and text[0] != "#" and not is_rule(text)


def is_rule(text: str) -> bool:
    """Whether a line is only drawn: `|---|---|`, `-----+----`, or the edge of a box."""
    return bool(_RULE.fullmatch(text)) and len(re.findall(_DASHES, text)) >= 3


@dataclass(frozen=True, slots=True)
class FoundLayout:
    """The layout of a table, and where it begins."""

    layout: LineLayout
    header: Line
    rows: Sequence[Line]  # below the header, of those that were looked at
    notes: tuple[str, ...] = ()


def find_layout(
    lines: Sequence[Line], faults: Faults, *, separator: str = "", decimal: str = ""
) -> FoundLayout:
    """Find the layout of a table from its first lines, comments among them.

    `separator` and `decimal` decide what they name. What is no table is refused.
    """
    separator, given = _given(separator, decimal)
    rows = [(line, text) for line, text in lines if is_row(text)]
    if rows and (match := re.fullmatch(_SEPARATOR_LINE, rows[0][1].strip())):
        separator = separator or match[1]
        rows = rows[1:]
    if not rows:
        faults.refuse("must contain a table, got nothing. Begin it with a line p,time_s.")
    rows = _with_title_in_comment(lines, rows)
    start, layout = 0, LineLayout(separator or ",")
    if not separator:
        _refuse_other_kinds(rows, faults)
        start, layout = _chosen(rows, faults)
    below = rows[start + 1 :][:MOST_LOOKED_AT]
    layout = LineLayout(layout.separator, given or _decimal(layout, below, faults))
    notes = [] if layout.is_plain else [f"columns are separated by {layout.name}"]
    if start:
        notes.append(f"{start} line{'s' if start > 1 else ''} of text above the table skipped")
    return FoundLayout(layout, rows[start], below, tuple(notes))


def _given(separator: str, decimal: str) -> tuple[str, str]:
    if separator and separator not in SEPARATORS:
        if separator not in SEPARATOR_NAMES and len(separator) != 1:
            raise ParameterError(
                "separator",
                must=f"be one of {', '.join(SEPARATOR_NAMES)} or one character",
                got=repr(separator),
                hint="Name the separator of the columns.",
            )
        separator = SEPARATOR_NAMES.get(separator, separator)
    if decimal and decimal not in {*DECIMALS, *DECIMALS.values()}:
        raise ParameterError(
            "decimal",
            must="be point or comma",
            got=repr(decimal),
            hint="Name the mark before the decimals.",
        )
    return separator, DECIMALS.get(decimal, decimal)


def _with_title_in_comment(lines: Sequence[Line], rows: list[Line]) -> list[Line]:
    """Take the last comment above rows of numbers for the header that they lack: `# p time`."""
    first, text = rows[0]
    above = [(line, x.lstrip("#%! \t")) for line, x in lines if line < first and x[:1] == "#"]
    if not above or not _is_all_numbers(text):
        return rows
    line, title = above[-1]
    for separator in SEPARATORS:
        layout = LineLayout(separator)
        try:
            titles, cells = layout.split_one(title), layout.split_one(text)
        except csv.Error:
            continue
        if len(titles) == len(cells) > 1 and not any(_is_number(x) for x in titles):
            return [(line, title), *rows]
    return rows


def _is_all_numbers(text: str) -> bool:
    return all(map(_is_number, re.split(r"[\s,;|]+", text.strip(" \t|,;"))))


def _is_number(text: str) -> bool:
    return re.fullmatch(f"[-+]?{NUMBER}", text.strip()) is not None


def _chosen(rows: Sequence[Line], faults: Faults) -> tuple[int, LineLayout]:
    """Choose what separates the cells: the header's place, and the layout."""
    if "p" in [title.strip() for title in rows[0][1].split(",")]:
        return 0, LineLayout()
    for start in range(min(len(rows) - 1, MOST_ABOVE)):
        found = _fitting(rows[start:])
        if found:
            _refuse_two(found, rows[start][0], faults)
            return start, LineLayout(found[0][0])
    _refuse_text(rows, faults)
    header = rows[0][1].translate(_BARS)
    marks = {mark: header.count(mark) for mark in ",;\t|"}
    most = max(marks, key=lambda mark: marks[mark])
    return 0, LineLayout(most if marks[most] or len(header.split()) < 2 else BLANK)


def _fitting(rows: Sequence[Line]) -> list[tuple[str, list[list[str]]]]:
    """Give each separator that makes a table of the lines, with its cells; equal ones once."""
    texts = [text for _, text in rows[: MOST_LOOKED_AT + 1]]
    found: list[tuple[str, list[list[str]]]] = []
    for separator in SEPARATORS:
        try:
            grid = [[x.strip() for x in row] for row in LineLayout(separator).split(texts)]
        except csv.Error:
            continue
        if _is_table(grid, separator) and all(grid != other for _, other in found):
            found.append((separator, grid))
    return found


def _is_table(grid: Sequence[Sequence[str]], separator: str) -> bool:
    """Whether cells are those of a table: as many in each row, and two columns of numbers."""
    header, *rows = grid
    whole = [row for row in rows if len(row) == len(header)]
    is_drawn = separator in {BLANK, BLANKS}
    if len(header) < 2 or len(whole) < len(rows) * (1.0 if is_drawn else 0.8) or not whole:
        return False
    if any(map(_is_number, header)):
        return False
    if is_drawn and any(not x or x in ",;|" or x[-1] in ",;|" for x in (*header, *whole[0])):
        return False  # another mark stands between the columns
    columns = list(zip(*whole, strict=True))
    return sum(map(_is_of_numbers, columns)) >= 2


def _is_of_numbers(cells: Sequence[str]) -> bool:
    """Whether most of the cells of a column hold numbers, and the others no run."""
    read = [read_shown(cell) for cell in cells]
    numbers = sum(cell.value == cell.value for cell in read)
    return numbers > 0 and 2 * (numbers + sum(bool(cell.failed) for cell in read)) >= len(read)


def _refuse_two(found: Sequence[tuple[str, list[list[str]]]], line: int, faults: Faults) -> None:
    """Refuse a table whose numbers fit two separators."""
    if len(found) < 2 or {found[0][0], found[1][0]} == {BLANK, BLANKS}:
        return
    one, other = (separator for separator, _ in found[:2])
    hint: Text = ("Choose: ", Argument("separator", _name_of(one)), " or ")
    hint = (*hint, Argument("separator", _name_of(other)), ".")
    faults.add(
        f"must have one separator of columns, got lines that {SEPARATORS[one]} and "
        f"{SEPARATORS[other]} both separate into numbers.",
        line=line,
        hint=hint,
    )
    faults.raise_all()


def _name_of(separator: str) -> str:
    """Name a separator as an option takes it."""
    names = {mark: name for name, mark in SEPARATOR_NAMES.items()} | {BLANKS: "blank"}
    return names.get(separator, separator)


def _decimal(layout: LineLayout, below: Sequence[Line], faults: Faults) -> str:
    """Find the decimal mark of the cells, or refuse those that could have either."""
    if layout.separator == "," and not any('"' in text for _, text in below):
        return "."  # a comma would end the cell
    marks: dict[str, tuple[int, str]] = {}
    columns: dict[int, list[str]] = {}
    for line, text in below:
        try:
            cells = layout.split_one(text)
        except csv.Error:
            continue
        for i, cell in enumerate(cells):
            if read_cell(cell).factors:
                continue
            columns.setdefault(i, []).append(cell.strip())
            if mark := decimal_marks(cell):
                marks.setdefault(mark, (line, cell.strip()))
    if not marks:
        for cells in columns.values():
            if cell := _maybe_thousands(cells):
                line = next(line for line, text in below if cell in text)
                marks["?"] = line, cell
    if "." in marks and "," in marks:
        line, cell = max(marks["."], marks[","])
        first = min(marks["."], marks[","])[1]
        faults.add(
            f"must have one decimal mark, got {first!r:.40} and {cell!r:.40}.",
            line=line,
            hint=("Correct one of them, or choose: ", *_decimal_options(), "."),
        )
        faults.raise_all()
    if "?" in marks and len(marks) == 1:
        line, cell = marks["?"]
        faults.add(
            f"must have a decimal mark that is clear, got {cell!r:.40}, which could be thousands.",
            line=line,
            hint=("Choose: ", *_decimal_options(), "."),
        )
        faults.raise_all()
    return "," if "," in marks else "."


def _maybe_thousands(cells: Sequence[str]) -> str:
    """Give a cell such as 1.234 from a column that otherwise has whole numbers, up to 999."""
    grouped = [cell for cell in cells if re.fullmatch(r"[1-9][0-9]{0,2}\.[0-9]{3}", cell)]
    whole = [cell for cell in cells if re.fullmatch("[0-9]{1,3}", cell)]
    return grouped[0] if grouped and whole and len(grouped) + len(whole) == len(cells) else ""


def _decimal_options() -> tuple[Argument | str, ...]:
    """Name both options that decide the decimal mark."""
    return Argument("decimal", "point"), " or ", Argument("decimal", "comma")


def _between_bars(text: str) -> list[str]:
    """Split a line at its bars, without those at its ends."""
    plain = text.translate(_BARS).strip()
    return [cell.strip() for cell in plain.removeprefix("|").removesuffix("|").split("|")]


def _refuse_other_kinds(rows: Sequence[Line], faults: Faults) -> None:
    """Refuse descriptions, JSON and what `sacct` prints, which no separator makes a table of."""
    line, first = rows[0]
    if first.lstrip().startswith("[") or re.match(r"\s*[\w.-]+\s*=", first):
        heads = [text.strip() for _, text in rows if re.fullmatch(_TOML_TABLE, text.strip())]
        if heads:
            _refuse_description("[[phase]]" in heads, faults)
    if first.lstrip()[:1] in "{[" and re.match(r'\s*[{\[]\s*(["{\[\]}]|$|[-0-9.]+\s*,)', first):
        faults.refuse(
            "must be a table of timings, got JSON that no importer knows. "
            "Write a table with a line such as p,time_s and below it a line for each run.",
            line=line,
        )
    titles = {word.lower() for word in first.split()}
    if "," not in first and "|" not in first and len(_SACCT & titles) >= 3:
        faults.refuse(
            "must have bars between its columns, got what sacct prints, whose columns are cut. "
            f"Print it again: {SACCT}",
            line=line,
        )


def _refuse_description(is_program: bool, faults: Faults) -> NoReturn:
    """Refuse a description in TOML: it is predicted with, not forecast from."""
    own = File(faults.path)
    files = (own, "machine.toml") if is_program else ("program.toml", own)
    faults.refuse(
        f"must be a table of timings, got the description of a "
        f"{'program' if is_program else 'machine'}. Predict with it: "
        f"{ours('predict', *files, '-p', '64')}"
    )


def _refuse_text(rows: Sequence[Line], faults: Faults) -> None:
    """Refuse text without rows of numbers, and rows of numbers without a header."""
    line, first = rows[0]
    below = [text for _, text in rows[1:101]]
    if any(re.search(_TIME_IN_LOG, text) for _, text in rows) and _is_log(rows):
        patterns = ("--time-pattern", "Time: ([0-9.]+)", "--count-pattern", "([0-9]+) ranks")
        take = ours("import", File(faults.path), *patterns, "-o", "timings.csv")
        got = "the log of a program. Take the times out of it"
        faults.refuse(f"must be a table of timings, got {got}: {take}", line=line)
    is_prose = not below and not re.search("[,;|\t]", first) and _is_sentence(first)
    if is_prose or (below and not any(map(_looks_like_a_row, below))):
        faults.refuse(
            "must be a table of timings, got text without rows of numbers. A table has a line "
            "such as p,time_s and below it a line for each run, such as 8,15.2.",
            line=line,
        )
    if _is_all_numbers(first):
        faults.refuse(
            "must name the columns, got numbers. Put a line such as p,time_s above it.", line=line
        )


def _is_sentence(text: str) -> bool:
    """Whether none of the words of a line is a usual title."""
    return not any(title_of(word).is_p or title_of(word).is_time for word in text.split())


def _is_log(rows: Sequence[Line]) -> bool:
    """Whether lines have different numbers of words, as sentences do."""
    return len({len(text.split()) for _, text in rows[:50]}) > 2


def _looks_like_a_row(text: str) -> bool:
    """Tell whether a quarter of the words of a line are numbers."""
    words = re.split(r"[\s,;|]+", text.strip())
    numbers = [word for word in words if re.fullmatch(rf"[-+]?{NUMBER}[a-zA-Z%]*", word)]
    return 4 * len(numbers) >= len(words)
