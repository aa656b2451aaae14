"""The rearrangers of PIO: who sends to whom, and which parts are contiguous in the file."""

import pytest

from parcast.arrays.law.libraries.library import LibrarySetting
from parcast.arrays.law.libraries.pio import Pio
from parcast.errors import ParameterError
from tests.arrays.law.libraries.made import LINK, MIB, RATE, costs, request

LISTS = 16 * 4 * 128 * 32 / 2 / LINK  # of the offsets and lengths of half the file [s]
BOX, SUBSET = Pio("box"), Pio("subset")


def test_a_box_is_gathered_and_written_at_once():
    found = BOX.time(request(), costs(), LibrarySetting(2))
    # 4 MiB of 8 for each task, which has 1 MiB of them itself.
    assert found.communication == pytest.approx(3 * MIB / LINK)
    assert found.file_system == pytest.approx(4 * MIB / RATE)
    assert found.messages == 6


def test_a_subset_has_fewer_messages_and_its_parts_are_exchanged_again():
    found = SUBSET.time(request(), costs(), LibrarySetting(2))
    # Ranks 0 and 1 have the first half of each plane, and the file half of the planes.
    assert found.communication == pytest.approx((2 + 2) * MIB / LINK + LISTS)
    assert found.file_system == pytest.approx(4 * MIB / RATE)
    assert found.messages == 2 + 2


def test_a_subset_that_is_contiguous_is_written_as_it_is():
    found = SUBSET.time(request(mesh=(4, 1, 1)), costs(), LibrarySetting(4))
    assert (found.communication, found.messages) == (0.0, 0)


def test_arrays_are_exchanged_together_and_written_one_by_one():
    own = costs(libraries={"collective": 1.0})
    one, three = (BOX.time(request(number=n), own, LibrarySetting(2)) for n in (1, 3))
    assert one.messages == three.messages
    assert three.file_system == pytest.approx(3 * one.file_system)


def test_an_array_with_few_rows_is_cut_in_the_next_dimension_too():
    parts = BOX.parts(request(shape=(2, 8, 8)), 4)
    assert [box.count for box in parts.boxes.each()] == [(1, 4, 8)] * 4
    assert len(BOX.parts(request(shape=(2, 1, 1), mesh=(1, 1, 1)), 4).client) == 2


def test_more_tasks_than_ranks_are_refused(refusal):
    says = refusal(ParameterError, BOX.time, request(), costs(), LibrarySetting(5))
    assert says == (
        "pio_numiotasks must be at most the 4 ranks, got 5. PIO takes its I/O tasks from the "
        "ranks: give fewer."
    )


def test_settings_are_ready_to_use():
    setting = LibrarySetting(2)
    for each, number in ((BOX, 1), (SUBSET, 2)):
        assert each.ready(request(), setting) == (
            f"pio_numiotasks=2;pio_stride=2;pio_rearranger={number}"
        )
