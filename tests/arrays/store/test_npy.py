""".npy files written by slabs of rows and read by boxes, beside `numpy.load` and `numpy.save`."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parcast.arrays.store.npy import NpyDraft, NpyWriter, open_npy
from parcast.arrays.store.verify import verify
from parcast.errors import FileProblems, ParameterError, RunFailed
from tests.arrays.store.made import TYPES, any_bits, boxes_in, same_bits, slices

shapes = st.lists(st.integers(0, 5), min_size=1, max_size=4).map(tuple)
often = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def write_npy(path, array, *, slabs=2, **settings):
    with NpyDraft.create(path, array.shape, array.dtype, **settings) as draft:
        with NpyWriter(draft.part) as writer:
            for row in range(0, len(array), slabs):
                writer.write(row, array[row : row + slabs])
            writer.flush()
        draft.commit()
    return path


@often
@given(shapes, st.sampled_from(TYPES), st.sampled_from(["C<", "F<", "C>", "F>"]), st.data())
def test_a_box_of_what_numpy_saved_is_read(tmp_path, shape, dtype, lies, data):
    order, endian = lies
    array = any_bits(shape, dtype, 1)
    path = tmp_path / f"{os.urandom(6).hex()}.npy"
    np.save(path, np.asarray(array.astype(array.dtype.newbyteorder(endian)), order=order))
    box = data.draw(boxes_in(shape))
    with open_npy(path) as stored:
        assert stored.shape == shape
        assert same_bits(stored.read(*box), array[slices(box)])


def test_rows_in_any_order_by_several_writers(tmp_path):
    array = np.arange(40.0).reshape(10, 4)
    with NpyDraft.create(tmp_path / "a.npy", (10, 4), "f8") as draft:
        for row in (6, 0, 3, 9):
            with NpyWriter(draft.part) as writer:
                writer.write(row, array[row : row + 3])
                writer.flush()
        assert not (tmp_path / "a.npy").exists()
        draft.commit()
    assert (np.load(tmp_path / "a.npy") == array).all()
    assert [x.name for x in tmp_path.iterdir()] == ["a.npy"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda p: NpyDraft.create(p / "a.zarr", (3,), "f8"), "path must end in .npy"),
        (lambda p: NpyDraft.create(p / "a.npy", (3,), object), "got Python objects"),
        (lambda p: NpyDraft.create(p / "no" / "a.npy", (3,), "f8"), "must be in a folder that"),
        (lambda p: NpyDraft.create(p / "b.npy", (3,), "f8"), "pass overwrite=True to replace it"),
        (lambda p: NpyDraft.create(p / "c.npy", (3,), "f8", overwrite=True), "something else"),
    ],
)
def test_a_wrong_request_is_refused(tmp_path, call, says, refusal):
    np.save(tmp_path / "b.npy", np.zeros(3))
    (tmp_path / "c.npy").mkdir()
    assert says in refusal(ParameterError, call, tmp_path)
    assert {x.name for x in tmp_path.iterdir()} == {"b.npy", "c.npy"}


def test_wrong_rows_are_refused(tmp_path):
    with NpyDraft.create(tmp_path / "a.npy", (4, 2), "f8") as draft, NpyWriter(draft.part) as w:
        for row, block in [(3, np.zeros((2, 2))), (0, np.zeros((2, 3))), (-1, np.zeros((1, 2)))]:
            with pytest.raises(ParameterError, match=r"must be rows of the shape \(4, 2\)"):
                w.write(row, block)
        with pytest.raises(ParameterError, match="must have elements of float64, got int64"):
            w.write(0, np.zeros((1, 2), int))
        with pytest.raises(RunFailed, match="is writing it"):
            NpyDraft.create(tmp_path / "a.npy", (4, 2), "f8")


def test_a_file_that_is_cut_off_is_told(tmp_path):
    path = write_npy(tmp_path / "a.npy", np.arange(100.0))
    assert verify(path).status == "unchecked"  # it has the right length
    assert verify(path).unchecked == ("bytes of the array: a .npy file has no checksums",)
    os.truncate(path, 500)
    with pytest.raises(FileProblems, match="is cut off: it must have 928 bytes, got 500"):
        open_npy(path)
    result = verify(path)
    assert (result.status, result.faults[0].kind) == ("damaged", "truncated file")
    path.write_bytes(b"nonsense")
    with pytest.raises(FileProblems, match=r"must be a \.npy file"):
        open_npy(path)
