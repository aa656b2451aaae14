"""`parcast.importers.cubex`: Score-P profiles.

pycubexr is not among the test dependencies. The tests above the last section put a small fake of
it into `sys.modules`, which answers as pycubexr 2.1.1 does where `cubex` asks it; those of the
last section run where pycubexr is installed, on archives that `write_cubex` builds by the
published description of the format.
"""

import gzip
import io
import struct
import sys
import tarfile
import tracemalloc
import zlib
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from parcast.importers.content import MissingLibrary
from parcast.importers.registry import import_timings
from tests.importers import refused

read = partial(import_timings, format="cubex")
refusal = partial(refused.refusal, read=read)

SOLVER = {  # call path: exclusive seconds of each thread
    "main": [1.0, 1.25, 1.0, 1.0],
    "main->solve": [6.0, 5.0, 5.5, 5.0],
    "main->solve->exchange": [0.5, 2.0, 0.5, 0.5],
}
SLOWEST = {"main": 8.25, "main->solve": 7.0, "main->solve->exchange": 2.0}  # inclusive


@dataclass
class Node:
    id: int
    name: str
    children: list["Node"] = field(default_factory=list)

    def get_children(self):
        return self.children


def tree(times):
    """The nodes of the call paths, each below its parent; those in depth first order."""
    nodes = {}
    for path in times:
        above, _, name = path.rpartition("->")
        nodes[path] = Node(len(nodes), name)
        if above:
            nodes[above].children.append(nodes[path])
    return nodes


class FakeParser:
    """`CubexParser` of pycubexr, with the profile that a test has laid out."""

    times = SOLVER
    processes = 4
    raises = None
    metrics = (("visits", "occ", "UINT64"), ("time", "sec", "DOUBLE"), ("sent", "bytes", "INT64"))

    def __init__(self, path):
        assert isinstance(path, str)
        self.nodes = tree(self.times)

    def __enter__(self):
        if self.raises is not None:
            raise self.raises
        return self

    def __exit__(self, *_):
        return None

    def all_metrics(self):
        numbers = {i: node.id for i, node in enumerate(self.nodes.values())}
        return [
            SimpleNamespace(
                id=i,
                name=name,
                units=unit,
                data_type=kind,
                metric_type="EXCLUSIVE",
                tree_index_to_cid_map=numbers,
            )
            for i, (name, unit, kind) in enumerate(self.metrics)
        ]

    def get_locations(self):
        count = len(next(iter(self.times.values())))
        threads = count // self.processes
        return [
            SimpleNamespace(id=i, rank=str(i % threads), type="thread")
            for i in reversed(range(count))  # in the order of the machine, not of their ids
        ]

    def get_root_cnodes(self):
        return [node for path, node in self.nodes.items() if "->" not in path]

    def get_region(self, node):
        return SimpleNamespace(name=node.name)


@pytest.fixture
def fake(monkeypatch):
    parser = type("CubexParser", (FakeParser,), {})
    module = ModuleType("pycubexr")
    module.CubexParser = parser
    monkeypatch.setitem(sys.modules, "pycubexr", module)
    return parser


def write_cubex(path, times=SOLVER, *, processes=4, kind="EXCLUSIVE", cut=0, **others):
    """Write a profile with the metrics visits and time; `others` are files in place of its own.

    Where `packed` is given, rows of values are packed, each by that.
    """
    packed = others.pop("packed", None)
    named = others.pop("metrics", (("visits", "UINT64", "occ"), ("time", "DOUBLE", "sec")))
    flat = np.array(list(times.values()))
    given = others.pop("values", {"visits": np.ones_like(flat), "time": flat})
    host = others.pop("host", "node")
    nodes = tree(times)
    count = len(next(iter(times.values())))
    threads = count // processes

    def cnode(node):
        below = "".join(map(cnode, node.children))
        return f'<cnode id="{node.id}" calleeId="{node.id}">{below}</cnode>'

    regions = "".join(
        f'<region id="{x.id}" mod="" begin="1" end="2"><name>{x.name}</name>'
        f"<mangled_name>{x.name}</mangled_name><paradigm>user</paradigm><role>function</role>"
        "<url></url><descr></descr></region>"
        for x in nodes.values()
    )
    groups = "".join(
        f'<locationgroup Id="{g}"><name>rank {g}</name><rank>{g}</rank><type>process</type>'
        + "".join(
            f'<location Id="{g * threads + t}"><name>thread {t}</name><rank>{t}</rank>'
            "<type>thread</type></location>"
            for t in range(threads)
        )
        + "</locationgroup>"
        for g in range(processes)
    )
    metrics = "".join(
        f'<metric id="{i}" type="{kind}"><disp_name>{name}</disp_name>'
        f"<uniq_name>{name}</uniq_name><dtype>{dtype}</dtype><uom>{unit}</uom><val></val>"
        "<url></url><descr></descr></metric>"
        for i, (name, dtype, unit) in enumerate(named)
    )
    anchor = (
        f'<?xml version="1.0" encoding="UTF-8"?><cube version="4.4"><metrics>{metrics}</metrics>'
        f"<program>{regions}{''.join(cnode(x) for p, x in nodes.items() if '->' not in p)}"
        '</program><system><systemtreenode Id="0"><name>machine</name><class>machine</class>'
        f'<systemtreenode Id="1"><name>{host}</name><class>node</class>{groups}</systemtreenode>'
        "</systemtreenode></system></cube>"
    )
    index = b"CUBEX.INDEX" + struct.pack("<ihbi", 1, 0, 1, len(nodes))
    index += struct.pack(f"<{len(nodes)}i", *range(len(nodes)))
    members = {"anchor.xml": anchor.encode()}
    kinds = {"UINT64": "<u8", "DOUBLE": "<f8"}
    for i, (name, dtype, _) in enumerate(named):
        values = np.array(given[name]).astype(kinds[dtype])
        data = b"CUBEX.DATA" + values.tobytes() if packed is None else packed_rows(values, packed)
        members[f"{i}.index"], members[f"{i}.data"] = index, data
    members |= {name.replace("_", "."): content for name, content in others.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    if cut:
        path.write_bytes(path.read_bytes()[:cut])
    return path


def packed_rows(values, pack):
    """Values as rows that are packed one by one."""
    rows = [pack(row.tobytes()) for row in values]
    places = [x for row in rows for x in (0, 0, len(row))]
    return (
        b"ZCUBEX.DATA" + struct.pack(f"<{1 + len(places)}q", len(rows), *places) + b"".join(rows)
    )


def rows(imported):
    """Times by call path, of runs that have each once."""
    measured = imported.measurements
    return dict(zip(measured.labels["callpath"].tolist(), measured.time.tolist(), strict=True))


# what is read


@pytest.mark.usefixtures("fake")
def test_time_is_inclusive_and_that_of_the_slowest_location(tmp_path):
    found = read([write_cubex(tmp_path / "profile.cubex")])
    assert rows(found) == SLOWEST
    assert set(found.measurements.p) == {4}
    assert found.notes == (
        "p is the number of processes in each file.",
        "The time is inclusive, of the slowest process or thread.",
    )


@pytest.mark.usefixtures("fake")
def test_folders_named_as_extrap_names_them_tell_the_parameters(tmp_path):
    folders = ["x.p4.n100.r1", "x.p4.n100.r2", "x.p8.n2,5.r1"]
    paths = [write_cubex(tmp_path / x / "profile.cubex") for x in folders]
    found = read(paths)
    main = found.measurements.select(callpath="main")
    assert main.axes["p"].tolist() == [4, 4, 8]
    assert main.axes["n"].tolist() == [100, 100, 2.5]
    assert main.repetition.tolist() == [1, 2, 1]
    assert "p is taken from the names of the folders." in found.notes


def test_threads_are_p_where_there_is_one_process(fake, tmp_path):
    fake.processes = 1
    found = read([write_cubex(tmp_path / "profile.cubex", processes=1)])
    assert set(found.measurements.p) == {4}
    assert found.notes[0] == "p is the number of threads of the one process."


# what is refused


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "must be a Score-P profile, got an empty file. Measure the run again."),
        (b"x" * 100, "must be a .cubex file, got 100 bytes. The file may have been cut off"),
        (b"p,time_s\n" * 100, "must be a .cubex file, a tar archive, got 'p,time_s"),
    ],
)
def test_a_foreign_file_is_refused_before_the_library_is_asked_for(content, says, file):
    path = file(content, "profile.cubex")
    assert says in refusal(path)


def test_a_missing_library_is_told_with_its_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pycubexr", None)
    path = write_cubex(tmp_path / "profile.cubex")
    with pytest.raises(MissingLibrary) as caught:
        read([path])
    assert 'pip install "parcast[cubex]"' in str(caught.value)
    assert caught.value.name == "pycubexr"
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "error", [AssertionError(), KeyError("anchor.xml"), EOFError("end"), tarfile.ReadError("bad")]
)
def test_whatever_the_library_raises_is_a_refusal_of_the_file(error, fake, tmp_path):
    fake.raises = error
    said = refusal(write_cubex(tmp_path / "profile.cubex"))
    assert said.startswith("file  must be a profile that pycubexr can read, got ")
    assert type(error).__name__ in said


def test_a_metric_that_is_no_time_is_refused(fake, tmp_path):
    path = write_cubex(tmp_path / "profile.cubex")
    assert refusal(path, metric="visits") == (
        "file  must have the metric 'visits' in units of time, got time. Choose one of them: "
        "metric=NAME"
    )
    fake.metrics = fake.metrics[:1]
    assert "got none" in refusal(path)


@pytest.mark.parametrize("bad", [-1.0, float("nan")])
def test_a_time_that_is_none_is_refused_at_its_call_path(bad, fake, tmp_path):
    fake.times = {"main": [1.0], "main->solve": [bad]}
    fake.processes = 1
    path = write_cubex(tmp_path / "profile.cubex", fake.times, processes=1)
    said = refusal(path, metric="exclusive")
    assert said.startswith(f"file  main->solve  must be a time above 0, got {bad}")


# where pycubexr is installed


@pytest.mark.parametrize("kind", ["EXCLUSIVE", "INCLUSIVE"])
def test_pycubexr_reads_an_archive_as_the_fake_does(kind, tmp_path):
    pytest.importorskip("pycubexr", reason="the extra cubex is not installed")
    inclusive = {
        "main": [7.5, 8.25, 7.0, 6.5],
        "main->solve": [6.5, 7.0, 6.0, 5.5],
        "main->solve->exchange": SOLVER["main->solve->exchange"],
    }
    times = SOLVER if kind == "EXCLUSIVE" else inclusive
    path = write_cubex(tmp_path / "x.p4.n100.r1" / "profile.cubex", times, kind=kind)
    found = read([path])
    assert rows(found) == SLOWEST
    assert set(found.measurements.axes["n"]) == {100}
    assert rows(read([path], metric="exclusive"))["main"] == 1.25


# what a file claims and what it holds


def bomb(_):
    """A row that is a million times as large as it must be."""
    return zlib.compress(bytes(32_000_000))


@pytest.mark.fault(
    "Files that are read",
    "A `.cubex` file of some megabytes that unpacks to gigabytes.",
    promise="Refused before it is unpacked.",
)
@pytest.mark.usefixtures("fake")
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    """3 MB of zlib took 4.1 GB."""
    path = write_cubex(tmp_path / "profile.cubex", packed=bomb)
    tracemalloc.start()
    try:
        said = refusal(path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert said.startswith("file  1.data must have 3 rows of 32 bytes, got others.")
    assert most < 2_000_000


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("others", "says"),
    [
        ({"1_data": b"CUBEX.DATA" + bytes(95)}, "1.data must have 3 rows of 32 bytes, got oth"),
        ({"1_data": b"ZCUBEX.DATA" + bytes(9)}, "1.data must have 3 rows of 32 bytes, got oth"),
        ({"1_data": b"ZCUBEX.DATA" + b"\xff" * 96}, "1.data must have 3 rows of 32 bytes"),
        ({"1_data": b"DATA"}, "1.data must have 3 rows of 32 bytes, got others."),
        ({"1_index": b"CUBEX.INDEX"}, "1.index must be an index of as many call paths as it"),
        ({"1_index": b"CUBEX.INDEX\1\0\0\0\0\0\1\xff\xff\xff\x7f"}, "1.index must be an index"),
        ({"anchor_xml": b"<?xml ?><!DOCTYPE a>"}, "must have an anchor.xml without entities"),
        ({"anchor_xml": gzip.compress(bytes(33_000_000))}, "must have an anchor.xml of at most 3"),
    ],
    ids=range(8),
)
def test_a_file_of_another_size_than_it_must_have_is_refused(others, says, tmp_path):
    assert says in refusal(write_cubex(tmp_path / "profile.cubex", **others))


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda x: x[:124] + b"77777777777\0" + x[136:], "must have its 8,589,934,591 bytes, got"),
        (lambda x: x[:124] + b"\x80" + b"\xff" * 11 + x[136:], "bytes, got"),
        (lambda x: x[:124] + b"none".ljust(12) + x[136:], "anchor.xml must have a size."),
        (lambda x: x[:156] + b"S" + x[157:], "an archive of plain files, got anchor.xml of anot"),
        (lambda x: x[: len(x) - 512] + b"x" * 500, "must end with a complete file, got 500 by"),
        (lambda x: x.replace(b"0.index", b"1.index"), "must have up to 10,000 files, each once"),
        (lambda x: x.replace(b"1.data", b"2.data"), "must have the file 1.data, got none."),
    ],
    ids=range(7),
)
def test_an_archive_that_claims_what_it_does_not_hold_is_refused(change, says, tmp_path):
    path = write_cubex(tmp_path / "profile.cubex")
    whole = path.read_bytes().rstrip(b"\0")
    path.write_bytes(change(whole + bytes(-len(whole) % 512 + 512)))
    assert says in refusal(path)


@pytest.mark.usefixtures("fake")
def test_more_values_than_fit_into_memory_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr("parcast.importers.cubex.MOST_VALUES", 11)
    path = write_cubex(tmp_path / "profile.cubex")
    assert refusal(path).startswith(
        "file  must have at most 11 values, got 3 call paths at 4 locations."
    )
    monkeypatch.setattr("parcast.importers.cubex.MOST_TEXT", 10)
    assert "must have at most 10 characters in its call paths" in refusal(path)


def test_values_that_are_no_plain_numbers_are_refused(fake, tmp_path):
    fake.metrics = (("visits", "occ", "UINT64"), ("time", "sec", "TAU_ATOMIC"))
    said = refusal(write_cubex(tmp_path / "profile.cubex"))
    assert "must have values that are plain numbers, got TAU_ATOMIC." in said


@pytest.mark.usefixtures("fake")
def test_exclusive_time_and_the_mean_can_be_asked_for(tmp_path):
    path = write_cubex(tmp_path / "profile.cubex")
    assert rows(read([path], metric="exclusive"))["main->solve"] == 6.0
    mean = read([path], metric="exclusive:mean")
    assert rows(mean)["main->solve"] == pytest.approx(5.375)
    assert mean.notes[-1] == "The time is exclusive, of the mean of the locations."
