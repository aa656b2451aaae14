"""A file of each rank: files that are made in turn, and disks that they share."""

from dataclasses import replace

import pytest

from parcast.arrays.law.libraries.file_per_rank import FilePerRank
from parcast.arrays.law.libraries.library import LibrarySetting
from tests.arrays.law.libraries.made import MIB, RATE, costs, request

EACH = 2 * MIB  # what each of four ranks has [B]
FILES = FilePerRank()


def time_of(own=None, **changes):
    asked = request(**changes)
    [setting] = FILES.settings(asked, [1], [MIB])
    return FILES.time(asked, own or costs(), setting).time


def test_every_rank_writes_its_part():
    assert time_of() == pytest.approx(EACH / RATE)
    assert time_of(number=5) == pytest.approx(5 * EACH / RATE)


@pytest.mark.parametrize(
    ("shared", "files"), [({"hosts": 2}, 2), ({"disks": 3}, 2), ({"disks": 1, "hosts": 3}, 4)]
)
def test_files_of_a_disk_share_it(shared, files):
    assert time_of(**shared) == pytest.approx(files * EACH / RATE)


def test_files_are_made_one_after_the_other():
    own = costs(libraries={"create": 1.0}, synchronise=3.0)
    assert time_of(own) == pytest.approx(4 + 3 + EACH / RATE)
    assert time_of(own, operation="read") == pytest.approx(4 + EACH / RATE)


def test_small_files_have_rates_of_their_own():
    own = costs(partition=EACH)
    own = replace(own, files={"single_write_rate": RATE / 2})
    assert time_of(own) == pytest.approx(2 * EACH / RATE)


def test_nothing_is_to_be_set():
    assert FILES.ready(request(), LibrarySetting(4)) == "4 files"
