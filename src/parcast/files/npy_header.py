"""The header of a `.npy` file, not trusted: NumPy's own reader allocates what it claims."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np

LONGEST: Final = 10_000  # bytes of a header that NumPy evaluates by default
WIDTHS: Final = {(1, 0): 2, (2, 0): 4, (3, 0): 4}  # bytes of the length, by the version


def read_npy_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, order by columns and type, up to the first element; ValueError if there is none.

    A length of gigabytes is refused before as much is read, and so are negative extents.
    """
    import numpy as np

    version = np.lib.format.read_magic(stream)
    if version not in WIDTHS:
        raise ValueError(f"version {version} is not known")
    place = stream.tell()
    length = int.from_bytes(stream.read(WIDTHS[version]), "little")
    if length > LONGEST:
        raise ValueError(f"a header has at most {LONGEST} bytes, not {length}")
    stream.seek(place)
    is_short = version == (1, 0)
    read = np.lib.format.read_array_header_1_0 if is_short else np.lib.format.read_array_header_2_0
    try:
        shape, is_by_columns, dtype = read(stream)
    except Exception as failure:  # of Python's tokenizer, if the text is none of Python
        raise ValueError(f"its header cannot be read: {failure}") from failure
    if any(extent < 0 for extent in shape):
        raise ValueError("its extents must be at least 0")
    return shape, is_by_columns, dtype
