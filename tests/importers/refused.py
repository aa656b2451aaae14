"""What a reader says of files that it refuses."""

import pytest

from parcast.errors import FileProblems
from parcast.importers.registry import import_timings


def refusal(paths, read=import_timings, **options):
    """Leave out the name of the file and the number of its faults."""
    paths = paths if isinstance(paths, list) else [paths]
    with pytest.raises(FileProblems) as caught:
        read(paths, **options)
    assert caught.value.path in ("", *map(str, paths))  # "": it is not the fault of one
    return "\n".join(line.strip() for line in str(caught.value).splitlines()[1:])
