"""What every library promises, and what costs that were not given do to its interval."""

from dataclasses import replace
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.arrays.geometry.chunks import mesh_chunks
from parcast.arrays.law.costs import LibraryCosts
from parcast.arrays.law.libraries.library import LibraryRequest, filled, interval
from parcast.arrays.law.parameters import ArrayParameters, illustrative_parameters, read_parameters
from parcast.arrays.planning.libraries import LIBRARIES
from parcast.errors import FileProblems, ParameterError
from tests.arrays.law.libraries.made import LINK, RATE, costs, request

EVERY = pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)


@EVERY
@given(
    st.lists(st.integers(4, 24), min_size=2, max_size=3),
    st.lists(st.integers(1, 3), min_size=3, max_size=3),
    st.integers(1, 4),
    st.integers(64, 4096),
)
def test_no_time_is_below_that_of_its_disks(library, shape, mesh, disks, buffer):
    asked = LibraryRequest(chunks=mesh_chunks(shape, mesh[: len(shape)]), itemsize=8, disks=disks)
    for behind in (True, False):
        own = costs(libraries={"writes_behind": behind})
        for setting in library.settings(asked, [1, 2, 4], [buffer]):
            found = library.time(asked, own, setting)
            assert min(found.parts.values()) >= 0
            assert found.time >= 8 * prod(shape) / disks / RATE * (1 - 1e-9)
            sent = found.communication * LINK / 8
            assert sent <= 3 * prod(shape)  # nothing is sent more often than its steps need


@EVERY
def test_costs_that_are_not_known_widen_the_interval(library):
    known, asked = costs(), request()
    setting = next(library.settings(asked, [2], [1 << 20]))
    time = library.time(asked, known, setting).time
    lower, upper = interval(library, asked, known, setting)
    assert (lower, upper) == pytest.approx((time / library.error, time * library.error))
    unknown = replace(known, libraries=LibraryCosts(writes_behind=False))
    unknown = replace(unknown, servers=replace(unknown.servers, open_file=1.0))
    wide = interval(library, asked, unknown, setting)
    assert wide[0] < library.time(asked, filled(unknown), setting).time / library.error
    assert wide[1] / wide[0] > upper / lower


def test_costs_that_stand_in_are_those_of_servers_and_messages():
    own = illustrative_parameters().costs()
    assert own.libraries.unknown == ("open_shared", "create", "collective", "pair", "cache_rate")
    found = filled(own).libraries
    assert (found.collective, found.pair, found.cache_rate) == (80e-6, 5e-6, 60e6)
    assert filled(costs()).libraries == costs().libraries


def test_a_file_may_have_them(file):
    path = file(
        '[servers]\nwrite_rate = "1 MB/s"\n[libraries]\npair = "2 us"\nwrites_behind = false\n'
    )
    found = read_parameters(path).costs().libraries
    assert (found.pair, found.writes_behind, found.unknown[0]) == (2e-6, False, "open_shared")
    with pytest.raises(FileProblems, match=r"libraries\.pairs"):
        read_parameters(file('[servers]\nwrite_rate = "1 MB/s"\n[libraries]\npairs = "2 us"\n'))


def test_costs_outside_their_domain_are_refused(refusal):
    assert refusal(ParameterError, LibraryCosts, pair=-1.0) == (
        "pair of libraries must be at least 0 and finite, got -1. Give seconds, or bytes per "
        "second."
    )
    assert "disks must be" in refusal(ParameterError, request, disks=0)
    assert ArrayParameters(servers={"write_rate": "1 MB/s"}).costs().libraries.writes_behind
