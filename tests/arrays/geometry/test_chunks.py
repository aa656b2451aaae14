"""Boxes that ranks list: complete and disjoint ones are taken, others refused with the ranks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.arrays.geometry.boxes import BoxArray
from parcast.arrays.geometry.chunks import listed_chunks
from parcast.arrays.geometry.intersections import first_gap, intersecting
from parcast.errors import ParameterError


@st.composite
def partitions(draw):
    """Draw an array cut into boxes, again and again along some dimension, in any order."""
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=4)))
    boxes = [((0,) * len(shape), shape)]
    for _ in range(draw(st.integers(0, 8))):
        start, count = boxes.pop(draw(st.integers(0, len(boxes) - 1)))
        d = draw(st.integers(0, len(shape) - 1))
        at = draw(st.integers(0, count[d]))
        first, second = (list(count), list(count))
        first[d], second[d] = at, count[d] - at
        later = list(start)
        later[d] += at
        boxes += [(start, tuple(first)), (tuple(later), tuple(second))]
    return shape, draw(st.permutations(boxes))


@given(partitions(), st.integers(1, 4))
def test_any_partition_is_taken(drawn, ranks):
    shape, boxes = drawn
    chunks = listed_chunks(shape, [boxes[i::ranks] for i in range(ranks)])
    assert chunks.clients == ranks
    seen = np.full(shape, -1)
    for client, start, stop in zip(chunks.client, *chunks.boxes, strict=True):
        seen[tuple(map(slice, start, stop))] = client
    for i, (start, count) in enumerate(boxes):
        stop = np.add(start, count)
        assert (seen[tuple(map(slice, start, stop))] == i % ranks).all()


@given(partitions(), st.data())
def test_a_box_that_is_left_out_is_found_as_a_gap(drawn, data):
    shape, boxes = drawn
    filled = [i for i, (_, count) in enumerate(boxes) if np.prod(count) > 0]
    missing = data.draw(st.sampled_from(filled))
    kept = [box for i, box in enumerate(boxes) if i != missing]
    with pytest.raises(ParameterError, match=r"boxes must cover the array, got a gap at"):
        listed_chunks(shape, [[box] for box in kept] or [[]])
    start, count = (np.array([box[i] for box in kept]).reshape(-1, len(shape)) for i in (0, 1))
    whole = BoxArray(np.zeros((1, len(shape)), dtype=int), np.array([shape]))
    gap = first_gap(BoxArray(start, start + count), whole)
    wanted, size = boxes[missing]
    assert (gap.start[0] >= wanted).all()
    assert (gap.stop[0] <= np.add(wanted, size)).all()
    assert gap.elements[0] > 0
    partial = listed_chunks(shape, [[box] for box in kept] or [[]], is_partial=True)
    assert partial.boxes.elements.sum() == np.prod(shape) - np.prod(size)


@given(partitions(), st.data())
def test_a_box_that_grows_into_another_is_refused(drawn, data):
    shape, boxes = drawn
    rank = data.draw(st.integers(0, len(boxes) - 1))
    start, count = boxes[rank]
    if np.prod(count) == 0 or np.prod(count) == np.prod(shape):
        return
    d = next(i for i, n in enumerate(shape) if count[i] < n)
    larger = list(count)
    start = list(start)
    if start[d] > 0:
        start[d] -= 1
    larger[d] += 1
    changed = [*boxes[:rank], (tuple(start), tuple(larger)), *boxes[rank + 1 :]]
    with pytest.raises(ParameterError, match=rf"boxes must not overlap, got .*rank {rank}"):
        listed_chunks(shape, [[box] for box in changed])


@given(st.data())
def test_pairs_are_those_of_a_double_loop(data):
    rank = data.draw(st.integers(1, 3))

    def drawn():
        count = data.draw(st.integers(0, 8))
        places = st.lists(st.integers(0, 9), min_size=rank, max_size=rank)
        start = np.array([data.draw(places) for _ in range(count)], dtype=int).reshape(-1, rank)
        sizes = st.lists(st.integers(0, 4), min_size=rank, max_size=rank)
        extent = np.array([data.draw(sizes) for _ in range(count)], dtype=int).reshape(-1, rank)
        return BoxArray(start, start + extent)

    first, second = drawn(), drawn()
    expected = [
        (i, j)
        for i in range(len(first.start))
        for j in range(len(second.start))
        if (
            np.minimum(first.stop[i], second.stop[j]) > np.maximum(first.start[i], second.start[j])
        ).all()
    ]
    assert list(zip(*intersecting(first, second), strict=True)) == expected


BOTH = "Give a list of (start, count) for each rank, such as [((0, 0), (4, 8))]; [] for a rank"


INSIDE = "must lie inside the array of 8x8"
START = "Count from 0; count is the length, not the end."
PAIRS = "must be (start, count) with 2 whole numbers each, or a list of such pairs"


@pytest.mark.parametrize(
    ("boxes", "says"),
    [
        (
            [((0, 0), (5, 8)), ((4, 0), (4, 8))],
            "boxes must not overlap, got [4:5, 0:8] in both rank 0 and rank 1. Give each element "
            "to one rank; leave out halos.",
        ),
        (
            [[((0, 0), (5, 8)), ((4, 0), (4, 8))]],
            "boxes must not overlap, got [4:5, 0:8] in rank 0 twice. Give each element to one "
            "rank; leave out halos.",
        ),
        (
            [((0, 0), (3, 8)), [], ((4, 0), (4, 8))],
            "boxes must cover the array, got a gap at [3:4, 0:8] beside rank 0, rank 2. Check the "
            "boxes of these ranks, or whether the list of one is missing.",
        ),
        (
            [((0, 0), (4, 8)), ((4, 0), (5, 8))],
            f"boxes of rank 1 {INSIDE}, got start (4, 0), count (5, 8). {START}",
        ),
        (
            [((0, 0), (4, 8)), ((4, 0), (4, -8))],
            f"boxes of rank 1 {INSIDE}, got start (4, 0), count (4, -8). {START}",
        ),
        (
            [((0, 0), (4, 8)), ((4, 0, 0), (4, 8, 1))],
            f"boxes of rank 1 {PAIRS}, got ((4, 0, 0), (4, 8, 1)). {BOTH} that holds nothing.",
        ),
        (
            [((0, 0), (4.0, 8))],
            f"boxes of rank 0 {PAIRS}, got ((0, 0), (4.0, 8)). {BOTH} that holds nothing.",
        ),
        (
            [((0, 0), (4,))],
            f"boxes of rank 0 {PAIRS}, got ((0, 0), (4,)). {BOTH} that holds nothing.",
        ),
        (
            [],
            "clients must be a whole number of at least 1, got 0. Give the boxes of at least one "
            "rank.",
        ),
    ],
)
def test_boxes_that_do_not_fit_are_refused_with_their_ranks(boxes, says, refusal):
    assert refusal(ParameterError, listed_chunks, (8, 8), boxes) == says
