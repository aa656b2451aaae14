"""Every reader of parcast: the valid documents it reads, and how it is called with a file."""

import io
import json
import shutil
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import parcast
from parcast.applications.sorting.npy_files import array_file
from parcast.applications.text.documents.reading import read_documents
from parcast.arrays.law.parameters import read_costs
from parcast.arrays.store.reading import open_store
from parcast.arrays.store.verify import verify
from parcast.cli.commands.import_files import settings as axes_set
from parcast.cli.kinds import kind_of
from parcast.cli.options import counts, sizes, variations
from parcast.cli.ranges import parse_range
from parcast.errors import ParameterError
from parcast.expressions import Expression
from parcast.importers.darshan_io import read_job_io
from parcast.importers.registry import FORMATS, import_machine, import_timings, recognised_format
from parcast.pipeline.engine.checkpoint import CHECKSUM, SCHEMA, RunCheckpoint, checksum_of
from parcast.pipeline.engine.checkpoint import MANIFEST as CHECKPOINT
from parcast.projection.read_counts import read_counts
from parcast.simulation.command import distributions, law_of
from parcast.timings.notes import ImportNote
from parcast.timings.tables.durations import compiled
from parcast.units import EXPECTED, quantity, time_unit_factor
from tests.arrays.store.made import write_store
from tests.fuzzing import documents, short_texts, stores, tool_documents
from tests.fuzzing.calls import CALLS

ROWS, COLUMNS = 6, 4  # of the array in the store that is damaged
ARRAY = np.arange(ROWS * COLUMNS, dtype="f8").reshape(ROWS, COLUMNS)


def read_quietly(path: Path) -> Any:
    """Read a table; what was understood of it is no failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportNote)
        return parcast.read_measurements(path)


@dataclass(frozen=True)
class Reader:
    """One reader, with what makes the documents that it reads."""

    name: str
    documents: SearchStrategy[bytes] | Callable[[Random], bytes]
    read: Callable[[Path], Any]
    file: str = "document"  # as the file is called, where its ending matters
    library: str = ""  # without which there is nothing to read with
    is_slow: bool = False  # more than some milliseconds a document
    is_call: bool = False  # whether a document is the arguments of a function, never changed

    @property
    def is_there(self) -> bool:
        """Whether the library that reads is installed."""
        return not self.library or find_spec(self.library) is not None

    def drawn(self, number: int, *, start: int) -> list[bytes]:
        """Some valid documents, always the same for the same number to start from."""
        if not isinstance(self.documents, SearchStrategy):
            return [self.documents(Random(f"{self.name} {start} {i}")) for i in range(number)]
        drawn: list[bytes] = []
        plain = settings(
            max_examples=number,
            phases=[Phase.generate],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )

        @seed(start)
        @plain
        @given(self.documents)
        def draw(document: bytes) -> None:
            drawn.append(document)

        draw()
        return drawn


def _text(read: Callable[[str], Any]) -> Callable[[Path], Any]:
    """Read what an option takes: a text, in which a byte may be none of UTF-8."""
    return lambda path: read(path.read_bytes().decode("utf-8", "surrogateescape"))


def _option(read: Callable[[str], Any], name: str) -> Callable[[Path], Any]:
    """Read an option whose refusals are ValueErrors that begin with its name."""

    def taken(text: str) -> Any:
        try:
            return read(text)
        except ValueError as refusal:
            if isinstance(refusal, ParameterError) or not str(refusal).startswith(name):
                raise
            raise ParameterError(str(refusal)) from None

    return _text(taken)


def _forecast(path: Path) -> None:
    """Forecast what `parcast forecast FILE -p 64` would."""
    kind_of(str(path))
    parcast.forecast(path, p=[64])


def _characterised(path: Path) -> None:
    parcast.characterise(parcast.read_profiles(path).runs)


def _evaluated(text: str) -> None:
    Expression(text)(p=[1.0, 2.0, 64.0], d=1.0, n=[[10.0], [1e6]])


def _quantities(text: str) -> None:
    """Read a text as each dimension would, of which one is right."""
    refusals = []
    for dimension in EXPECTED:
        try:
            quantity(text, dimension, name="value")
        except ParameterError as refusal:
            refusals.append(refusal)
    if len(refusals) == len(EXPECTED):
        raise refusals[0]


def _predicted(program: Path, machine: Path) -> None:
    """Read a description and predict from it, without intervals, which take time."""
    str(parcast.predict(program, machine, p=[1, 4], d=2, n=1000, interval=False))


def _new_store(folder: Path) -> Path:
    """Write a store of one array in several chunks."""
    shape = {"chunk": (4, COLUMNS), "subchunk": (2, 2), "dimensions": ("y", "x")}
    return Path(write_store(folder / "s.zarr", {"u": ARRAY}, **shape))


def _store(path: Path, place: str) -> None:
    """Put the file into a store, check the store, and read all of it."""
    store = path.with_name("s.zarr")
    if not store.exists():
        _new_store(path.parent)
    kept = (store / place).read_bytes()
    shutil.copyfile(path, store / place)
    try:
        str(verify(store))
        with open_store(store) as opened:
            for array in opened.values():
                array.read((0,) * len(array.shape), tuple(min(n, ROWS) for n in array.shape))
    finally:
        (store / place).write_bytes(kept)


@cache
def _stored(place: str) -> bytes:
    """The valid content of a file of the store."""
    with TemporaryDirectory() as folder:
        return (_new_store(Path(folder)) / place).read_bytes()


@st.composite
def _npy(draw: Any) -> bytes:
    """An array in NumPy's format."""
    stream = io.BytesIO()
    dtype = draw(st.sampled_from(("f8", "i4", "u1", "f4")))
    shape = draw(st.sampled_from(((5,), (0,), (1000,))))
    np.save(stream, np.zeros(shape, dtype))
    return stream.getvalue()


def _npy_read(path: Path) -> None:
    verify(path)
    array = array_file(path)
    array.read(0, min(array.length, 5))


@st.composite
def _checkpoints(draw: Any) -> bytes:
    """The list of a pipeline's checkpoint, without files of values."""
    nodes = [[0, x, x + 1, 0.0, 0] for x in range(draw(st.integers(0, 3)))]
    signature = {"items": "a" * 8, "merge": "b" * 8}
    document = {"schema": SCHEMA, "signature": signature, "nodes": nodes}
    document |= {"delivered": 0, "items": 4, "skipped": []}
    document[CHECKSUM] = checksum_of(document)
    return json.dumps(document).encode()


def _checkpoint(path: Path) -> None:
    content = path.read_bytes()
    with suppress(ValueError, RecursionError, AttributeError):  # as if all had been written so
        document = json.loads(content)
        document.pop(CHECKSUM, None)
        content = json.dumps(document | {CHECKSUM: checksum_of(document)}).encode()
    path.with_name(CHECKPOINT).write_bytes(content)
    RunCheckpoint(path.parent, 60.0, {"items": "a" * 8, "merge": "b" * 8}).read()


def _machine_of(path: Path, name: str) -> None:
    import_machine([path], name).to_toml()


PROGRAM = tool_documents.EXAMPLES / "btio" / "program.toml"
MACHINE = tool_documents.EXAMPLES / "btio" / "sp2.toml"

_READERS = [
    Reader(
        "csv",
        documents.timings() | documents.timings("speedup") | documents.tables(),
        read_quietly,
    ),
    Reader("forecast", documents.timings() | tool_documents.extrap, _forecast, is_slow=True),
    Reader(
        "any-format", tool_documents.anything, lambda path: recognised_format([path]), is_slow=True
    ),
    Reader("profile", documents.profiles(), _characterised, is_slow=True),
    Reader("counts-csv", documents.counts(), read_counts),
    Reader("times", documents.distributions(), lambda path: law_of(str(path))),
    Reader("machine", documents.machines(), parcast.read_machine, file="machine.toml"),
    Reader("program", documents.programs(), parcast.read_program, file="program.toml"),
    Reader(
        "predict-machine",
        documents.machines(),
        partial(_predicted, PROGRAM),
        file="machine.toml",
        is_slow=True,
    ),
    Reader(
        "predict-program",
        documents.programs(),
        lambda path: _predicted(path, MACHINE),
        file="program.toml",
        is_slow=True,
    ),
    Reader("costs", documents.costs(), read_costs, file="costs.toml"),
    Reader(
        "trace",
        documents.traces(),
        lambda path: str(parcast.timeline_of(path)),
        file="trace.jsonl",
    ),
    Reader("documents", documents.documents(), lambda path: list(read_documents(path))),
    Reader("checkpoint", _checkpoints(), _checkpoint),
    *(
        Reader(
            name, st.builds(partial(_stored, place)), partial(_store, place=place), is_slow=True
        )
        for name, place in {
            "zarr-group": "zarr.json",
            "zarr-array": "u/zarr.json",
            "zarr-chunk": "u/c.0.0",
        }.items()
    ),
    Reader("zarr-tree", stores.cases, stores.attack, is_slow=True),
    *(
        Reader(name, st.builds(valid), stores.with_file(*places), is_slow=True)
        for name, (places, valid) in stores.FILES.items()
    ),
    Reader("npy", _npy(), _npy_read, file="array.npy"),
    *(
        Reader(name, written, partial(import_timings, format=name))
        for name, written in {
            "parcast": tool_documents.own_results(),
            "extrap": tool_documents.extrap,
            "slurm": tool_documents.slurm,
            "hyperfine": tool_documents.hyperfine(),
            "google-benchmark": tool_documents.google_benchmarks(),
            "pyperf": tool_documents.pyperf(),
            "pytest-benchmark": tool_documents.pytest_benchmarks(),
            "talp": tool_documents.talp(),
            "lammps": tool_documents.lammps(),
            "gromacs": tool_documents.gromacs(),
            "gnu-time": tool_documents.gnu_times(),
            "caliper": tool_documents.caliper,
            "hatchet": tool_documents.hatchet,
            "darshan": tool_documents.darshan,
        }.items()
    ),
    Reader(
        "reframe", tool_documents.reframe, partial(import_timings, format="reframe"), is_slow=True
    ),
    Reader(
        "parquet",
        tool_documents.parquet_tables(),
        partial(import_timings, format="parquet"),
        library="pyarrow",
        is_slow=True,
    ),
    Reader(
        "log",
        tool_documents.own_logs(),
        partial(import_timings, time_pattern=r"elapsed: (\S+)", count_pattern=r"ranks: (\S+)"),
    ),
    Reader("table", documents.timings(), lambda path: import_timings([path, path], "table")),
    Reader(
        "pattern",
        st.sampled_from((rb"elapsed: ([\d.]+)", rb"(?P<time>\d+) s", rb"a|(b)")),
        _text(lambda text: compiled(text, "time_pattern")),
    ),
    Reader(
        "cali",
        tool_documents.cali,
        partial(import_timings, format="caliper"),
        file="document.cali",
        library="caliperreader",
    ),
    Reader(
        "cubex",
        tool_documents.cubex_archives(),
        partial(import_timings, format="cubex"),
        file="x.p4.r1/profile.cubex",
        library="pycubexr",
    ),
    Reader("darshan-io", tool_documents.darshan_io, read_job_io),
    *(
        Reader(name, written, partial(_machine_of, name=name), file="document.n4.txt")
        for name, written in {
            "osu": tool_documents.osu,
            "imb": tool_documents.imb,
            "ior": tool_documents.ior,
        }.items()
    ),
    Reader("expression", short_texts.expressions, _text(_evaluated)),
    Reader("quantity", short_texts.quantities(), _text(_quantities)),
    Reader(
        "unit", st.sampled_from((b"time_s", b"time_ms", b"elapsed_min")), _text(time_unit_factor)
    ),
    Reader("processors", short_texts.counts, _option(lambda text: counts(text, "-p"), "-p")),
    Reader("sizes", short_texts.sizes, _option(lambda text: sizes(text, "-n"), "-n")),
    Reader(
        "range",
        short_texts.ranges(),
        _option(lambda text: parse_range(text, "rate", name="--vary"), "--vary"),
    ),
    Reader(
        "pairs",
        short_texts.pairs,
        _text(
            lambda text: [
                read([text], "--option") for read in (distributions, variations, axes_set)
            ]
        ),
    ),
]
_READERS += [
    Reader(name, arguments, read, is_slow=True, is_call=True)
    for name, (arguments, read) in CALLS.items()
]
READERS = {reader.name: reader for reader in _READERS if reader.is_there}
ABSENT = [reader.name for reader in _READERS if not reader.is_there]
assert set(FORMATS) <= {reader.name for reader in _READERS}
