"""`parcast.files.npy_header`: what NumPy wrote is read, and nothing that a file only claims."""

import io

import numpy as np
import pytest

from parcast.files.npy_header import read_npy_header


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("array", [np.zeros((2, 3)), np.zeros(0, "i4"), np.zeros((2, 3)).T])
def test_a_header_is_read_up_to_the_first_element(array, version):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=version)
    stream.seek(0)
    shape, is_by_columns, dtype = read_npy_header(stream)
    assert (shape, dtype) == (array.shape, array.dtype)
    assert is_by_columns == (array.shape == (3, 2))
    assert len(stream.read()) == array.nbytes


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x09\x00",
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff{",  # a header of 4 GB
        b"\x93NUMPY\x01\x00\x20\x00{'shape': (" + b" " * 30,  # no end, for Python's tokenizer
        b"\x93NUMPY\x01\x00\x3d\x00{'descr': '<f8', 'fortran_order': False, 'shape': (-5,), }    ",
    ],
)
def test_what_is_no_header_is_a_value_error(content):
    with pytest.raises(ValueError):  # noqa: PT011 - the words are NumPy's
        read_npy_header(io.BytesIO(content))
