"""`sort_file`: the bytes of NumPy's stable sort, for whatever an array holds."""

import io
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from parcast.applications.sorting import plan
from parcast.applications.sorting.npy_files import ArrayFile
from parcast.applications.sorting.order import Order
from parcast.applications.sorting.shards import SPREAD
from parcast.applications.sorting.sort_file import sort_file
from parcast.errors import FileProblems, ParameterError, RunFailed
from parcast.mpi.find import find_mpi

LENGTH = 3000
RECORDS = np.dtype([("key", ">i2"), ("flag", "?"), ("value", "<f8")], align=True)  # with padding


@pytest.fixture
def small_pieces(monkeypatch):
    """Cut small arrays into some ten chunks and shards."""
    monkeypatch.setattr(plan, "SMALLEST_CHUNK", 16)
    monkeypatch.setattr(plan, "SMALLEST_PART", 0)
    monkeypatch.setattr(plan, "TURNS", 12)


def saved(array):
    """Bytes of the file that numpy.save writes."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def by_key(records, names):
    """Sort records by fields, stably, with the bytes between fields: one field after the other."""
    order = np.arange(len(records))
    for name in reversed(names):
        order = order[np.argsort(records[name][order], kind="stable")]
    return records.view(f"V{records.dtype.itemsize}")[order].view(records.dtype)


def sorted_bytes(tmp_path, array, **options):
    """Sort an array by way of files."""
    np.save(tmp_path / "in.npy", array)
    result = sort_file(tmp_path / "in.npy", tmp_path / "out.npy", **options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.npy", "out.npy"]
    return (tmp_path / "out.npy").read_bytes(), result


def numbers(dtype, seed=0):
    """Numbers of a kind, with ties, zeros of both signs and NaNs of several payloads."""
    rng = np.random.default_rng(seed)
    if dtype == "?":
        return rng.random(LENGTH) < 0.5
    kind = np.dtype(dtype).kind
    if kind in "US":
        return rng.integers(0, 300, LENGTH).astype(str).astype(dtype)
    if kind in "mM":
        days = rng.integers(-50, 50, LENGTH).astype(f"{dtype[:1]}8[D]")
        days[::17] = "NaT"
        return days.astype(dtype)
    if kind in "iu":
        return rng.integers(0, 100, LENGTH).astype(dtype)
    values = rng.integers(-40, 40, LENGTH).astype(dtype) / np.asarray(8, dtype)
    values[::13] = -0.0
    if kind == "c":
        values.imag = rng.integers(-3, 3, LENGTH)
        values.imag[5::29] = np.nan
    values[3::31] = np.nan
    values[4::37] = -values[3::31][0]  # a NaN of the other sign
    return values.astype(dtype)


KINDS = (
    *("?", "i1", "u2", "<i4", ">i4", "i8", "u8", "f2", ">f2", "f4", ">f4", "<f8", ">f8"),
    *("c8", ">c16", "S5", "U4", ">U4", "M8[s]", "m8[ms]"),
)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.usefixtures("small_pieces")
def test_every_kind_of_number_has_the_bytes_of_numpy(tmp_path, dtype):
    array = numbers(dtype)
    got, result = sorted_bytes(tmp_path, array)
    assert result.chunks > 8
    assert result.shards > 8
    assert got == saved(np.sort(array, kind="stable"))


@pytest.mark.usefixtures("small_pieces")
def test_extended_precision_has_the_values_of_numpy(tmp_path):
    """Their unused bytes are any, also after numpy.sort."""
    array = numbers("g")
    sorted_bytes(tmp_path, array)
    got, expected = np.load(tmp_path / "out.npy"), np.sort(array, kind="stable")
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


SHAPES = {
    "sorted": np.arange(LENGTH) * 0.5,
    "falling": np.arange(LENGTH)[::-1] * 0.5,
    "all equal": np.zeros(LENGTH),
    "two values": np.arange(LENGTH) % 2 * 1.0,
    "half equal and first": np.where(np.arange(LENGTH) < LENGTH // 2, 7.0, np.arange(LENGTH)),
    "all NaN": np.full(LENGTH, np.nan),
    "zeros of both signs": np.where(np.arange(LENGTH) % 3, 0.0, -0.0),
    "one outlier": np.where(np.arange(LENGTH) == 5, 1e300, np.arange(LENGTH) * 1e-300),
    "empty": np.zeros(0),
    "one element": np.ones(1),
    "two elements": np.array([2.0, 1.0]),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.usefixtures("small_pieces")
def test_skewed_arrays_are_sorted_in_shards_of_nearly_equal_length(tmp_path, name):
    array = SHAPES[name]
    got, result = sorted_bytes(tmp_path, array)
    assert got == saved(np.sort(array, kind="stable"))
    assert result.longest <= SPREAD * max(len(array) / result.shards, 1)


@pytest.mark.parametrize("by", [("key",), ("flag", "key"), ("value",), ()])
@pytest.mark.usefixtures("small_pieces")
def test_records_are_sorted_by_fields_and_keep_the_bytes_between_them(tmp_path, by):
    raw = np.random.default_rng(3).integers(0, 256, LENGTH * RECORDS.itemsize).astype("u1")
    records = raw.view(RECORDS)
    records["key"] %= 9
    records["flag"] = records["key"] % 2
    got, _ = sorted_bytes(tmp_path, records, by=by)
    expected = by_key(records, by or RECORDS.names)
    assert got == saved(expected)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy")["key"], expected["key"])


@pytest.mark.parametrize("name", ["a.npy", "link.npy", "hard.npy", "folder/../a.npy"])
def test_the_input_is_never_the_output(tmp_path, name):
    """It is no array, which shows that nothing was read."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.npy").write_bytes(b"no array")
    (tmp_path / "link.npy").symlink_to("a.npy")
    (tmp_path / "hard.npy").hardlink_to(tmp_path / "a.npy")
    with pytest.raises(ParameterError) as caught:
        sort_file(tmp_path / "a.npy", tmp_path / name)
    assert caught.value.must == "be another file than those that are read"
    assert (tmp_path / "a.npy").read_bytes() == b"no array"


@pytest.mark.usefixtures("small_pieces")
def test_parts_merged_in_several_levels_give_the_same_bytes(tmp_path, monkeypatch):
    array = numbers("f8")
    monkeypatch.setattr(plan, "FEW_NOTES", plan.NOTED * 120)  # 12 shards of less than 12 parts
    monkeypatch.setattr(plan, "NOTES", 0.0)
    got, result = sorted_bytes(tmp_path, array)
    assert result.run.fan_in == 4
    assert got == saved(np.sort(array, kind="stable"))


def test_ranks_stay_within_the_limit_of_memory(tmp_path):
    """64 MB are sorted with 25 MB for results and work; everything a rank holds is counted."""
    array = np.random.default_rng(2).normal(size=8_000_000)
    got, result = sorted_bytes(tmp_path, array, ranks=2, memory=plan.PROGRAM + 25e6)
    assert got == saved(np.sort(array, kind="stable"))
    known = [peak for peak in result.peaks if peak is not None]  # of ranks that ended a shard
    assert known
    assert max(known) <= plan.PROGRAM + 25e6
    assert result.warnings == ()


def test_ranks_of_mpiexec_sort_together(tmp_path):
    array = numbers("i4")
    np.save(tmp_path / "in.npy", array)
    program = tmp_path / "program.py"
    program.write_text(
        "from parcast.applications.sorting.sort_file import sort_file\n"
        f"r = sort_file({str(tmp_path / 'in.npy')!r}, {str(tmp_path / 'out.npy')!r})\n"
        "from pathlib import Path\n"
        "said = f'{r.elements} {len(r.run.ranks)}'\n"
        f"Path({str(tmp_path)!r}, str(r.is_root)).write_text(said)\n"
    )
    command = [find_mpi().mpiexec, "-n", "2", sys.executable, str(program)]
    subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert (tmp_path / "False").read_text() == "0 2"
    assert (tmp_path / "True").read_text() == f"{LENGTH} 2"
    assert (tmp_path / "out.npy").read_bytes() == saved(np.sort(array, kind="stable"))


FULL = """
import resource, sys
from parcast.errors import RunFailed
from parcast.applications.sorting import plan
from parcast.applications.sorting.sort_file import sort_file
plan.SMALLEST_CHUNK, plan.LEAST = 1 << 16, 0
memory, ranks, most = plan.PROGRAM + float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
try:
    sort_file(sys.argv[1], sys.argv[2], memory=memory, ranks=ranks)
except RunFailed as refusal:
    print(refusal)
"""


@pytest.mark.fault(
    "Pipelines",
    "The disk is full while an array is sorted.",
    promise="The file is named; what was there before stays; no part is left.",
)
@pytest.mark.parametrize(
    ("memory", "ranks", "most", "says"),
    [
        (1e6, 1, 16_000, "A result of "),  # where results are spilled
        (8e6, 1, 100_000, "The sorted array cannot be written to "),  # a shard
        (8e6, 1, 1_000_000, "The sorted array cannot be written to "),  # the output
    ],
)
def test_a_full_disk_is_told_and_nothing_is_left(tmp_path, memory, ranks, most, says):
    """A limit of the length of files stands for a disk that is full."""
    np.save(tmp_path / "in.npy", np.random.default_rng(4).random(200_000))
    (tmp_path / "out.npy").write_bytes(b"before")
    options = map(str, (tmp_path / "in.npy", tmp_path / "out.npy", memory, ranks, most))
    ended = subprocess.run(
        [sys.executable, "-c", FULL, *options],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        # The limit would hold for the files of coverage as well.
        env={name: x for name, x in os.environ.items() if not name.startswith("COV")},
    )
    assert ended.stdout.startswith(says), ended.stdout + ended.stderr
    assert "file too large" in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.npy", "out.npy"]
    assert (tmp_path / "out.npy").read_bytes() == b"before"


def test_a_disk_without_the_space_is_refused_before(tmp_path, monkeypatch):
    np.save(tmp_path / "in.npy", np.zeros(1000))
    usage = type("Usage", (), {"free": 9000})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(RunFailed) as caught:
        sort_file(tmp_path / "in.npy", tmp_path / "out.npy")
    assert str(caught.value) == (
        f"{tmp_path} has 9 kB free, and sorting needs 24 kB. "
        "Free some space, or choose another output or directory."
    )


def test_files_that_cannot_be_sorted_are_refused(tmp_path):
    wrong = {
        "text.npy": (b"1, 2, 3", "must be a .npy file, got other bytes."),
        "empty.npy": (b"", "is empty."),
        "flat.npy": (saved(np.zeros((2, 3))), "must hold an array of one dimension, got 2"),
        "single.npy": (saved(np.float64(3)), "must hold an array of one dimension, got 0"),
        "objects.npy": (saved(np.array([1, None])), "got Python objects."),
        "cut.npy": (saved(np.zeros(9))[:-4], "is cut off: it must have 200 bytes, got 196."),
        "header.npy": (saved(np.zeros(9))[:40], "must have a valid header."),
    }
    for name, (content, says) in wrong.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FileProblems) as caught:
            sort_file(tmp_path / name, tmp_path / "out.npy")
        assert says in str(caught.value)
    with pytest.raises(FileProblems, match="no such file"):
        sort_file(tmp_path / "none.npy", tmp_path / "out.npy")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"by": "x"}, "by must be left out where the elements are no records, got 'x'."),
        ({"memory": "80 MB"}, "memory must be at least 92 MB, got 80 MB."),
        ({"memory": "80"}, 'memory must be a size with its unit, got "80", which has none.'),
        ({"memory": -1.0}, "memory must be above 0, got -1."),
        ({"ranks": 0}, "ranks must be"),
    ],
)
def test_bad_arguments_are_refused(tmp_path, options, says):
    np.save(tmp_path / "in.npy", np.zeros(9))
    with pytest.raises(ParameterError) as caught:
        sort_file(tmp_path / "in.npy", tmp_path / "out.npy", **options)
    assert str(caught.value).startswith(says)


def test_fields_and_output_are_refused_with_what_may_be_meant(tmp_path):
    np.save(tmp_path / "in.npy", np.zeros(9, [("time", "f8"), ("place", "i4")]))
    with pytest.raises(ParameterError, match=r"by must be a field .* Did you mean time\?"):
        sort_file(tmp_path / "in.npy", tmp_path / "out.npy", by="tme")
    with pytest.raises(ParameterError, match=r"output must end in \.npy"):
        sort_file(tmp_path / "in.npy", tmp_path / "out.csv")


def planned(size, memory):
    """Plan for so many bytes of doubles on two ranks."""
    source = ArrayFile(Path("a.npy"), np.dtype("f8"), int(size / 8), 128)
    return plan.plan_of(source, Order(np.dtype("f8")), memory=memory, ranks=2)


@pytest.mark.parametrize("size", [2e8, 2e9, 2e10, 2e11])
def test_the_least_memory_that_is_named_is_enough(size):
    with pytest.raises(ParameterError) as caught:
        planned(size, plan.PROGRAM + plan.LEAST)
    number, unit = caught.value.must.split()[3:5]
    least = float(number) * {"MB": 1e6, "GB": 1e9}[unit]
    assert planned(size, 1.03 * least).chunks > 1
    with pytest.raises(ParameterError):
        planned(size, 0.95 * least)


def test_what_is_held_at_a_time_fits_into_the_memory():
    for size, memory in ((2e9, 3e8), (1e10, 3e8), (1e11, 1e9)):
        cut, room = planned(size, memory), memory - plan.PROGRAM
        order = Order(np.dtype("f8"))
        work = max(cut.chunk * 8 * order.sorting, size / cut.shards * plan.SPREAD * order.merging)
        levels = math.ceil(math.log(cut.chunks, cut.fan_in) - 1e-9)
        noted = cut.shards * cut.fan_in * levels * plan.NOTED
        assert cut.kept * 1.5 + work + noted < room
        assert cut.chunk * cut.chunks * 8 >= size
    assert planned(2e9, 3e8).fan_in == planned(2e9, 3e8).chunks  # each shard is merged once
