"""IOR: bandwidth and latency of the storage, from its text, JSON or CSV.

- bandwidth: the median rate of all writes, since memory helps them least; of reads where nothing
  was written. It is the rate of all servers, of which no file tells the number: 1 is written.
- latency: the median time to open the file, which is what a request takes besides its bytes. The
  column `Latency(s)` is not taken: it is the time of one transfer, its bytes included.

What a cache may have done is reported: whether writes were not forced to the disk (-e), and reads
were of what the same node had written (no -C, or one node only).

All three forms give rates in MiB/s (2^20 B/s), sizes in KiB in the results and in bytes among the
parameters, and times in seconds. A result is left out if it has no rate, or if IOR warns that data
were wrong or missing: such a warning stands above the result, but that of a check of what was
written below it. JSON is searched for the flat objects that hold results and not
parsed as a whole: releases before 4 write it with commas too many, brackets too few, quotes that
are not escaped, and `nan` or `inf`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NoReturn

from parcast.calibration.benchmarks.machine_figures import (
    MachineFigures,
    SourcedFigure,
    figure_of,
    files_of,
    written,
)
from parcast.calibration.benchmarks.memories import DEVICE, HOST, in_words, of_one_memory
from parcast.calibration.benchmarks.message_tables import LARGEST_TEXT, BenchmarkFile
from parcast.files.faults import Faults
from parcast.files.numbers import finite, whole, whole_of_json
from parcast.importers.content import CUT_OFF, text_lines
from parcast.importers.registry import Format
from parcast.units import format_quantity, percent, shown

Form = Literal["text", "json", "csv", "mdtest"]
LARGEST = 1e12  # MiB/s, or seconds: more than any storage moves, or any test takes
MEBIBYTE = 2.0**20  # [B]
KIBIBYTE = 2.0**10  # [B]
COLUMNS: Final = {  # what other forms call them, without the unit
    "bwmib": "bw",
    "opentime": "open",
    "totaltime": "total",
    "xferkib": "xfer",
}
BANNER = re.compile(r"^[ \t]*IOR-\S{1,60}: MPI Coordinated Test", re.MULTILINE)
CSV = re.compile(r"\s*access,bw\(MiB/s\)", re.IGNORECASE)
MDTEST = re.compile(r"^mdtest-\S+ was launched|^-- started at [^\n]*\n\s*mdtest-", re.MULTILINE)
RESULT = re.compile(r'"access"\s*:\s*"(write|read)"')
MESSAGE = re.compile(r"[ \t]*(?:\S{0,40}[ \t])?(?:WARNING|ERROR)\b.*")  # also "ior WARNING: ..."
MESSAGE_OR_FLAT = re.compile(rf"\{{[^{{}}]*\}}|^{MESSAGE.pattern}", re.MULTILINE)
ENDED = re.compile(r"^[ \t]*(?:\S{0,40}[ \t])?ERROR\b", re.MULTILINE)
MOVED: Final = "using actual"
SIZES = re.compile(
    rf"(Expected|Stat\(\) of|{MOVED}) +aggregate (?:file size|bytes moved) *= *(\d{{1,18}})",
    re.IGNORECASE,
)
WRONG_WRITTEN: Final = r"incorrect data on write"
WARNINGS: Final = {  # what a warning says, and why the next result is left out
    r"inconsistent file size": "inconsistent file size",
    r"incorrect data": "wrong data read",
    r"\bERROR\b": "an error",
    r"\bfailed\b|\bcannot\b|\bunable\b|short (?:write|read)": "a failed operation",
}
PAIR = re.compile(r'"(\w+)"\s*:\s*("[^"\n]*"|[^\s,}]+)')
ITS_KEY = re.compile(r'"(?:bwMiB|blockKiB|refnum|testFileName)"\s*:')
BEGUN = re.compile(r'"(?:tests|Results|Command line)"\s*:')


@dataclass(frozen=True, kw_only=True, slots=True)
class IorRun:
    """One access of one repetition."""

    access: str  # "write" or "read"
    rate: float  # with opening and closing [B/s]
    open: float | None  # [s]
    total: float | None  # [s]
    transfer: float | None  # size of a transfer [B]
    tasks: int | None = None  # where newer CSV has them


def form_of(text: str) -> Form | None:
    """Tell which form a file has, from how it begins; None where it is none of IOR."""
    if MDTEST.search(text[:4096]):
        return "mdtest"
    if CSV.match(text):
        return "csv"
    if text.lstrip().startswith("{"):
        return "json" if BEGUN.search(text) and ITS_KEY.search(text) else None
    return "text" if BANNER.search(text) else None


def runs_of(text: str, form: Form, file: BenchmarkFile, notes: list[str]) -> list[IorRun]:
    """Read the results of a file, at least one, in their order; add notes."""
    faults = file.faults
    if form == "json":
        _check_json(text, file, notes)
    results = _of_json(text) if form == "json" else _of_table(text, form, faults)
    runs: list[IorRun] = []
    trouble = Trouble()
    for line, row in results:
        if isinstance(row, str):
            if re.search(WRONG_WRITTEN, row, re.IGNORECASE):
                _leave_out_last_write(runs, file)
            elif not trouble.add(row) or "ERROR" in row:
                file.look_at(row, line)
            continue
        run, reason, trouble = _run(row), trouble.reason(), Trouble()
        if "bw" not in row:
            faults.add(f"must be a column, got none. {CUT_OFF}", line=line, field="bw")
        elif run is None:
            file.leave_out(f"rate {shown(row['bw'], limit=24)}")
        elif reason:
            file.leave_out(reason)
        else:
            runs.append(run)
    if len(faults):
        faults.raise_all()
    if not runs:
        said = " ".join(file.notes())
        faults.refuse(f"must have results of write or read, got none. {said or CUT_OFF}")
    return runs


def _leave_out_last_write(runs: list[IorRun], file: BenchmarkFile) -> None:
    """Leave out what was written last, as a check of it has failed."""
    written = [i for i, run in enumerate(runs) if run.access == "write"]
    if written:
        del runs[written[-1]]
        file.leave_out("wrong data written")


class Trouble:
    """What IOR has warned of since the last result, for which the next one is left out."""

    def __init__(self) -> None:
        self._warned = ""
        self._sizes: dict[str, int] = {}  # expected, found and moved [B]
        self._is_by_time = False  # the time of a test was limited, so that it moved less

    def add(self, text: str) -> bool:
        """Take in a line; tell whether it was one of these warnings."""
        if match := SIZES.search(text):
            self._sizes[match[1].casefold()] = int(match[2])
            return True
        if "deadlineForStonewalling" in text:
            self._is_by_time = True
            return True
        for pattern, reason in WARNINGS.items():
            if re.search(pattern, text, re.IGNORECASE):
                self._warned = self._warned or reason
                return True
        return False

    def reason(self) -> str:
        """Say why the result that follows is left out; "" if it is not."""
        moved = self._sizes.get(MOVED, 0)
        found, expected = (self._sizes.get(x, moved) for x in ("stat() of", "expected"))
        is_short = not self._is_by_time and (moved < expected or found < moved)
        return self._warned or ("fewer bytes than expected" if is_short else "")


def _check_json(text: str, file: BenchmarkFile, notes: list[str]) -> None:
    """Refuse JSON that was cut off, unless an error ended the run: then it is what there is."""
    try:
        json.loads(text, parse_int=whole_of_json)
    except (ValueError, RecursionError) as error:
        if '"Finished"' not in text and not ENDED.search(text):
            line = getattr(error, "lineno", None)
            must = f'must be complete, got no "Finished" at its end. {CUT_OFF}'
            file.faults.refuse(must, line=line)
        notes.append(
            f"{shown(file.name)} is not valid JSON, as some releases of IOR write it. The results "
            "were read one by one."
        )


Result = tuple[int, dict[str, str] | str]  # a line and its row, or what else it says


def _of_json(text: str) -> Iterator[Result]:
    """Go through the flat objects that hold results, and the warnings between them."""
    line, last = 1, 0
    for match in MESSAGE_OR_FLAT.finditer(text):
        is_message = not match[0].startswith("{")
        access = None if is_message else RESULT.search(match[0])
        if access is None and not is_message:
            continue
        at = match.start() + (access.start() if access else 0)
        line, last = line + text.count("\n", last, at), at
        if access is None:
            yield line, match[0]
            continue
        row = {_column(key): value.strip('"') for key, value in PAIR.findall(match[0])}
        yield line, row | {"access": access[1]}


def _of_table(text: str, form: Form, faults: Faults) -> Iterator[Result]:
    """Go through the rows below the header that begins with "access", and the warnings."""
    separator = "," if form == "csv" else None
    columns: Sequence[str] = ()
    for line, row in enumerate(text.splitlines(), start=1):
        words = [word.strip() for word in row.split(separator)]
        if not words:
            continue
        if words[0] == "access" and len(words) > 2:
            columns = [_column(re.sub(r"\(.*", "", word)) for word in words]
        elif words[0] in {"write", "read"} and columns:
            if len(words) != len(columns):
                faults.add(
                    f"must have {len(columns)} columns, got {len(words)}. {CUT_OFF}", line=line
                )
                continue
            yield line, dict(zip(columns, words, strict=True)) | {"access": words[0]}
        elif row.startswith("Summary of all tests"):  # its rows begin as those of results do
            columns = ()
        elif MESSAGE.match(row):
            yield line, row


def _run(row: dict[str, str]) -> IorRun | None:
    """Read one result; None where it has no rate."""
    rate, open_, total, size = (_number(row.get(x, "-")) for x in ("bw", "open", "total", "xfer"))
    if not rate:
        return None
    return IorRun(
        access=row["access"],
        rate=rate * MEBIBYTE,
        open=open_,
        total=total,
        transfer=None if size is None else size * KIBIBYTE,
        tasks=whole(row.get("numtasks", "")),
    )


def _column(name: str) -> str:
    """Name a column as text does, whatever a form calls it."""
    return COLUMNS.get(name.casefold(), name.casefold())


def _number(word: str) -> float | None:
    """Read a number of at least 0 that can be one of a test, or None."""
    value = finite(word)
    return value if value is not None and 0 <= value <= LARGEST else None


NODES = re.compile(r'(?:"nodes"|^nodes)\s*[:=]\s*"?([0-9]+)', re.MULTILINE)
TASKS = re.compile(
    r'(?:"(?:tasks|numTasks)"|^(?:tasks|clients))\s*[:=]\s*"?([0-9]+)', re.MULTILINE
)
COMMAND = re.compile(r'^"?Command line(?: used)?"?\s*:\s*(.*)', re.MULTILINE)
FORCED = re.compile(r'"fsync(?:perwrite)?"\s*:\s*1', re.IGNORECASE)
REORDERED = re.compile(r'"reorderTasks(?:Random)?"\s*:\s*1')
ON_DEVICE = re.compile(r"allocateBufferOnGPU=[1-9]|gpuDirect(?!=0)", re.IGNORECASE)
TOO_MUCH = 0.1  # share of the time of a test that opening may take [D]
OF_CSV: Final = (
    "Rates may include a cache, as CSV does not contain the options of IOR: {}. Import the text "
    "or JSON output to check this."
)
OF_WRITES: Final = (
    "Writes may not have reached the disk: {}. Run IOR with -e, which forces them to the disk."
)
OF_READS: Final = (
    "Reads may have come from the memory of the node that wrote the data: {}. Run IOR with -C on "
    "two or more nodes, or with more bytes than their memory."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Test:
    """What one file tells."""

    name: str
    form: str
    runs: list[IorRun]
    tasks: int | None
    nodes: int | None
    is_forced: bool  # to the disk, when it was written
    is_elsewhere: bool  # read by another node than that which wrote it
    is_direct: bool  # past the cache
    memory: str  # of the data
    file: str


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is output of IOR, or of its mdtest."""
    return form_of(head.decode("utf-8", errors="replace")) is not None


def read(paths: Sequence[Path], *, memory: str | None = None) -> MachineFigures:
    """Servers, bandwidth and latency of the storage of one machine, and its rate when read.

    `memory` is that of the data, "host" or "device", where files have several.
    """
    notes: list[str] = []
    tests = [_test(path, notes) for path in paths]
    tests = of_one_memory(tests, memory, format="ior", paths=paths)
    writes, reads = (
        [run for test in tests for run in test.runs if run.access == access]
        for access in ("write", "read")
    )
    taken = writes or reads
    access = "write" if writes else "read"
    tasks = sorted({test.tasks for test in tests if test.tasks})
    of_tasks = in_words(tests[0].memory)
    of_tasks += f", {' and '.join(map(str, tasks))} tasks" if tasks else ""
    figures = [
        SourcedFigure(
            key="storage.servers", text="1", source="not reported by IOR: assumed to be one"
        ),
        figure_of(
            "storage.bandwidth",
            [run.rate for run in taken],
            "rate",
            f"IOR {access}{of_tasks}, all servers together, with open and close",
        ),
    ]
    notes.append(
        "IOR does not report the number of servers: storage.servers is set to 1, and "
        "storage.bandwidth to the rate of all servers together. With d servers, change them to d "
        "and to a d-th of the rate."
    )
    opens = [run.open for run in taken if run.open]
    if opens:
        source = f"IOR {access}{of_tasks}, time to open the file"
        figures.append(figure_of("storage.latency", opens, "time", source))
    remarks = []
    if writes and reads:
        rates, source = [run.rate for run in reads], f"IOR read{of_tasks}, all servers together"
        read = figure_of("storage.read_bandwidth", rates, "rate", source)
        if any(_is_cached(test) for test in tests):
            remarks.append(f"read, possibly from a cache: {read.text}; {read.source}")
        else:
            figures.append(read)
    notes += _notes(tests, taken)
    return MachineFigures(
        source=files_of("IOR", paths),
        figures=tuple(figures),
        remarks=tuple(remarks),
        notes=tuple(notes),
    )


FORMAT = Format(
    title="IOR text, JSON or CSV", recognises=recognises, machine=read, has_memories=True
)


def _test(path: Path, notes: list[str]) -> _Test:
    file = BenchmarkFile(path)
    lines: list[str] = []
    for number, line in text_lines(path, file.faults, largest=LARGEST_TEXT):
        lines += [""] * (number - 1 - len(lines)) + [line]  # lines keep their numbers
    text = "\n".join(lines)
    form = form_of(text)
    if form is None or form == "mdtest":
        _refuse(form, text, file.faults)
    runs = runs_of(text, form, file, notes)
    notes += file.notes()
    command = match[1] if (match := COMMAND.search(text)) else ""
    tasks, nodes = TASKS.search(text), NODES.search(text)
    return _Test(
        name=shown(file.name),
        form=form,
        runs=runs,
        tasks=whole(tasks[1]) if tasks else runs[0].tasks,
        nodes=whole(nodes[1]) if nodes else None,
        is_forced=bool(FORCED.search(text) or re.search(r"\s-[eY]\b|\bfsync=1\b", command)),
        is_elsewhere=bool(REORDERED.search(text) or re.search(r"\s-[CZ]\b", command)),
        is_direct=bool(re.search(r"\s-B\b|odirect|useO_DIRECT=1", command)),
        memory=DEVICE if ON_DEVICE.search(command) else HOST,
        file=str(path),
    )


def _is_cached(test: _Test) -> bool:
    """Tell whether what was read may have come from the memory of the node that wrote it."""
    was_read = any(run.access == "read" for run in test.runs)
    is_certain = test.is_direct or (test.is_elsewhere and test.nodes != 1)
    return was_read and (test.form == "csv" or not is_certain)


def _is_kept(test: _Test) -> bool:
    """Tell whether what was written may still have been in memory."""
    wrote = any(run.access == "write" for run in test.runs)
    return wrote and not (test.form == "csv" or test.is_direct or test.is_forced)


def _notes(tests: Sequence[_Test], taken: Sequence[IorRun]) -> Iterator[str]:
    """Say what may have made the rates too good, and what else a reader must know."""
    access = taken[0].access
    for is_told, text in (
        (lambda test: test.form == "csv", OF_CSV),
        (_is_kept, OF_WRITES),
        (lambda test: test.form != "csv" and not test.is_direct and _is_cached(test), OF_READS),
    ):
        names = [test.name for test in tests if is_told(test)]
        if names:
            yield text.format(", ".join(names))
    shares = sorted(run.open / run.total for run in taken if run.open and run.total)
    if shares and shares[len(shares) // 2] > TOO_MUCH:
        share = percent(shares[len(shares) // 2])
        yield (
            f"Opening the file took {share} of the time of a {access}, and storage.bandwidth "
            "includes it. Run IOR with more bytes."
        )
    sizes = sorted({run.transfer for run in taken if run.transfer})
    if len(sizes) > 1:
        least, most = (format_quantity(size, "size") for size in (sizes[0], sizes[-1]))
        yield (
            f"The median of {access} is one of transfers of several sizes, {least} to {most}, "
            "which are no repetitions. Import those of one size."
        )
    slowest, fastest = (f(run.rate for run in taken) for f in (min, max))
    if fastest > 2 * slowest:
        yield (
            f"The rates of {access} vary from {written(slowest, 'rate')} to "
            f"{written(fastest, 'rate')}. Run more repetitions."
        )


def _refuse(form: str | None, text: str, faults: Faults) -> NoReturn:
    if form == "mdtest":
        faults.refuse(
            "must be output of ior, got that of mdtest, which measures no data rates. Import the "
            "output of ior."
        )
    first = text.lstrip().split("\n", 1)[0]
    faults.refuse(
        "must be output of IOR (text, JSON or CSV), got a file that begins with "
        f"{shown(repr(first), limit=40)}. Name the format if it is another."
    )
