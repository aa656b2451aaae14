"""Two-phase writes: bytes, rounds and lists as ROMIO has them, and bounds that must hold."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.arrays.law.libraries.exchange import disk_time
from parcast.arrays.law.libraries.library import LibrarySetting
from parcast.arrays.law.libraries.romio import Romio
from parcast.errors import ParameterError
from tests.arrays.law.libraries.made import LINK, MIB, RATE, costs, request

ROMIO = Romio()
LISTS = 16 * 4 * 128 * 32 / 2 / LINK  # of the offsets and lengths of half the file [s]


def time_of(own=None, setting=(2, MIB), **changes):
    return ROMIO.time(request(**changes), own or costs(), LibrarySetting(*setting))


def test_aggregators_get_what_others_have_and_write_their_domain():
    found = time_of()
    # 8 MiB of 4 ranks: each of 2 aggregators gets 3/4 of 4 MiB from others, and writes 4 MiB.
    assert found.communication == pytest.approx(3 * MIB / LINK + LISTS)
    assert found.file_system == pytest.approx(4 * MIB / RATE)
    assert found.messages == 4 * 2 * 3  # rounds, aggregators, others
    assert found.limited_by == "file system"


def test_ranks_of_one_host_do_not_use_its_link():
    alone = time_of(hosts=1, setting=(1, MIB))
    assert alone.communication == 0.0
    # Hosts 0 and 1 have ranks 0, 2 and 1, 3: half of each domain comes from the other host.
    assert time_of(hosts=2).communication == pytest.approx(2 * MIB / LINK + LISTS)


def test_a_round_takes_a_step_of_all_ranks_and_a_call_four_more():
    own = costs(libraries={"collective": 1.0})
    steps = 2 * (4 + 4 + 2)  # lg 4 steps of: rounds, lists and end, opening and flushing
    assert time_of(own).communication == pytest.approx(3 * MIB / LINK + LISTS + steps)
    assert time_of(own, setting=(2, 4 * MIB)).communication == pytest.approx(
        3 * MIB / LINK + LISTS + 2 * (1 + 4 + 2)
    )


def test_pairs_are_the_contiguous_runs_of_ranks():
    own = costs(libraries={"pair": 1.0})
    # A rank has 128 x 32 rows of half a line; an aggregator gets those of all ranks in its half.
    assert time_of(own).computation == pytest.approx(128 * 32 + 4 * 128 * 32 / 2)


def test_disks_are_shared_by_aggregators():
    assert time_of(setting=(4, MIB), disks=2).file_system == pytest.approx(4 * MIB / RATE)


def test_every_round_of_sync_and_of_a_read_waits_for_the_disk():
    behind = costs(libraries={"writes_behind": True})
    for changes in ({"writer": "sync"}, {"operation": "read"}):
        found = time_of(behind, **changes)
        assert found.file_system == pytest.approx(4 * MIB / RATE)
    assert time_of(behind).time == pytest.approx(0.75 * MIB / LINK + LISTS + 4 * MIB / RATE)


def test_arrays_add():
    assert time_of(number=3).time == pytest.approx(3 * time_of().time)


@given(
    st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=3),
    st.lists(st.floats(0, 5), min_size=3, max_size=3),
    st.integers(1, 4),
    st.floats(0, 3),
)
def test_writing_behind_is_what_a_queue_does(sizes, exchange, number, around):
    own = costs(libraries={"writes_behind": True, "cache_rate": 50.0})
    own = replace(own, servers=replace(own.servers, write_rate=4.0))
    sizes, now, copied = np.array(sizes), 0.0, 0.0
    ends = np.zeros(len(sizes))
    for _ in range(number):
        now += around
        for k in range(3):
            now += exchange[k] + sizes[:, k].max() / 50
            copied += sizes[:, k].max() / 50
            ends = np.maximum(ends, np.where(sizes[:, k] > 0, now, 0)) + sizes[:, k] / 4
    took = disk_time(request(number=number), own, sizes, np.array(exchange), around=around)
    assert took == pytest.approx(max(ends.max(), now) - now + copied)


def test_more_aggregators_than_hosts_are_refused(refusal):
    says = refusal(ParameterError, time_of, setting=(3, MIB), hosts=2)
    assert says == (
        "cb_nodes must be at most the 2 hosts of the ranks, got 3. ROMIO takes one rank a host. "
        "Give fewer, or more on each: cb_config_list=*:2."
    )
    assert "cb_nodes must be a whole number of at least 1" in refusal(
        ParameterError, time_of, setting=(0, MIB)
    )


def test_settings_are_ready_to_use():
    assert ROMIO.ready(request(), LibrarySetting(4, 1 << 24)) == (
        "romio_cb_write=enable;cb_nodes=4;cb_buffer_size=16777216"
    )
    assert [*ROMIO.settings(request(hosts=2), [1, 2, 8], [5])] == [(1, 5), (2, 5)]
