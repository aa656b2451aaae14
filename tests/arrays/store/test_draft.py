"""A draft takes no place that it was not given, and gives up its own when it is incomplete."""

import numpy as np
import pytest

from parcast.arrays.store.draft import Draft
from parcast.arrays.store.layout import ArraySpec
from parcast.arrays.store.npy import NpyDraft, NpyWriter
from parcast.arrays.store.reading import open_store
from parcast.arrays.store.writing import Writer
from parcast.errors import ParameterError, RunFailed
from tests.arrays.store.made import write_store

pytest.importorskip("google_crc32c", reason="the extra arrays is not installed")

ROWS = np.arange(4.0)


def store_draft(path, **keys):
    """Begin a store, and write all of it."""
    draft = Draft.create(path, [ArraySpec(name="u", shape=(4,), dtype="f8")], **keys)
    with Writer(draft.part) as writer:
        writer.write("u", ROWS)
        writer.flush()
    return draft


def npy_draft(path, **keys):
    """Begin a .npy file, and write all of it."""
    draft = NpyDraft.create(path, (4,), "f8", **keys)
    with NpyWriter(draft.part) as writer:
        writer.write(0, ROWS)
        writer.flush()
    return draft


DRAFTS = [(store_draft, "s.zarr"), (npy_draft, "s.npy")]


@pytest.mark.parametrize(("begun", "name"), DRAFTS)
@pytest.mark.parametrize("overwrite", [True, False])
def test_what_appears_at_the_place_meanwhile_is_kept(tmp_path, begun, name, overwrite):
    draft = begun(tmp_path / name, overwrite=overwrite)
    (tmp_path / name).mkdir()
    (tmp_path / name / "precious").touch()
    with pytest.raises(ParameterError, match="nothing was deleted"):
        draft.commit()
    assert [path.name for path in tmp_path.rglob("*")] == [name, "precious"]


def test_a_store_that_appears_meanwhile_is_replaced_only_where_that_is_allowed(tmp_path):
    path = tmp_path / "s.zarr"
    for overwrite in (False, True):
        other = write_store(tmp_path / f"other {overwrite}.zarr", {"v": ROWS})
        draft = store_draft(path, overwrite=overwrite)
        if not overwrite:
            other.rename(path)
            with pytest.raises(ParameterError, match="pass overwrite=True"):
                draft.commit()
        else:
            draft.commit()
        with open_store(path) as store:
            assert list(store) == (["u"] if overwrite else ["v"])


def test_a_draft_with_a_chunk_missing_gives_up_its_place(tmp_path):
    path = tmp_path / "s.zarr"
    draft = Draft.create(path, [ArraySpec(name="u", shape=(4,), dtype="f8", chunk=(2,))])
    with pytest.raises(RunFailed, match="array u, chunk 0 was not written"):
        draft.commit()
    assert not list(tmp_path.rglob("*"))
    store_draft(path).commit()
    assert (path / "u").is_dir()
