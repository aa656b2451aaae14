"""One path or several, told apart in one place for all that read files."""

import pytest

from parcast.errors import ParameterError
from parcast.importers.registry import import_machine, import_timings
from parcast.timings.read_profiles import read_profiles


@pytest.mark.parametrize(
    ("read", "hint"),
    [
        (import_timings, "Name the files to import."),
        (lambda paths: import_machine(paths, "osu"), "Name the files to import."),
        (read_profiles, "Name profiles."),
    ],
    ids=["import_timings", "import_machine", "read_profiles"],
)
@pytest.mark.parametrize(("paths", "says"), [(3, "paths must be a sequence, got 3.")])
def test_what_is_no_path_is_refused_by_all_that_read_files(read, hint, paths, says, refusal):
    assert refusal(ParameterError, read, paths) == f"{says} {hint}"


def test_what_is_to_be_imported_is_named_by_paths():
    with pytest.raises(ParameterError, match=r"paths must be names of files, got \['a', None\]"):
        import_timings(["a", None])
