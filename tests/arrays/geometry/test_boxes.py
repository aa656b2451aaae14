"""Blocks, pieces and contiguous runs: against counts by brute force, at edges, and refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.arrays.geometry.boxes import (
    BoxArray,
    as_mesh,
    as_schema,
    as_shape,
    block_edges,
    contiguous_runs,
    cut,
    mesh_edges,
    product_boxes,
)
from parcast.errors import ParameterError
from tests.arrays.law import reference

POLICIES = ("balanced", "hpf")
extents = st.integers(1, 40)


@st.composite
def meshes(draw, most=9):
    """Draw the extents of an array, a mesh, and a policy; a mesh may have empty blocks."""
    rank = draw(st.integers(1, 6))
    largest = {1: 40, 2: 12, 3: 7}.get(rank, 4)
    shape = [draw(st.integers(1, largest)) for _ in range(rank)]
    mesh = [draw(st.integers(1, max(2, most // rank))) for _ in range(rank)]
    return shape, mesh, draw(st.sampled_from(POLICIES))


@st.composite
def boxes_in(draw, shape):
    start = [draw(st.integers(0, n - 1)) for n in shape]
    return start, [draw(st.integers(a + 1, n)) for a, n in zip(start, shape, strict=True)]


@given(n=st.integers(0, 10**12), m=st.integers(1, 10**5))
def test_balanced_blocks_differ_by_one_element_at_most(n, m):
    edges = block_edges(n, m)
    assert edges[0] == 0
    assert edges[-1] == n
    assert np.ptp(np.diff(edges)) <= 1


@given(n=st.integers(0, 500), m=st.integers(1, 60), policy=st.sampled_from(POLICIES))
def test_blocks_are_those_of_the_definition(n, m, policy):
    assert block_edges(n, m, policy).tolist() == reference.edges(n, m, policy)


@given(meshes())
def test_chunks_are_in_row_major_order(drawn):
    shape, mesh, policy = drawn
    boxes = product_boxes(mesh_edges(shape, mesh, policy))
    given_boxes = np.stack([boxes.start, boxes.stop], axis=-1).tolist()
    expected = reference.mesh_boxes(shape, mesh, policy)
    assert given_boxes == [[list(side) for side in box] for box in expected]


@given(st.data())
def test_pieces_partition_each_box_in_order(data):
    shape = data.draw(st.lists(st.integers(1, 8), min_size=1, max_size=4))
    drawn = [data.draw(boxes_in(shape)) for _ in range(3)]
    start, stop = (np.array([box[i] for box in drawn]) for i in range(2))
    start[1] = stop[1]  # an empty one among them
    pieces = np.array([[data.draw(st.integers(1, n)) for n in shape] for _ in range(3)])
    parts, of = cut(BoxArray(start, stop), pieces)
    assert np.all(np.diff(of) >= 0)
    for i in (0, 2):
        seen = np.full(shape, -1)
        for order, j in enumerate(np.flatnonzero(of == i)):
            where = tuple(map(slice, parts.start[j], parts.stop[j]))
            assert (seen[where] == -1).all()
            seen[where] = order
        box = tuple(map(slice, start[i], stop[i]))
        first = [seen[tuple(x)] for x in parts.start[of == i]]
        assert (seen[box] >= 0).all()
        assert first == sorted(first)
        assert (seen >= 0).sum() == (stop[i] - start[i]).prod()
    assert 1 not in of


@given(st.data())
def test_runs_are_those_that_a_walk_through_memory_counts(data):
    rank = data.draw(st.integers(1, 5))
    shape = [data.draw(st.integers(1, {1: 20, 2: 8, 3: 5}.get(rank, 3))) for _ in range(rank)]
    start, stop = data.draw(boxes_in(shape))
    box, outer = list(zip(start, stop, strict=True)), [(0, n) for n in shape]
    zero = BoxArray(np.zeros((1, rank), dtype=int), np.array([shape]))
    inner = BoxArray(np.array([start]), np.array([stop]))
    assert contiguous_runs(inner, zero).tolist() == [reference.runs(box, outer)]


@pytest.mark.parametrize(
    ("given_schema", "mesh", "text"),
    [
        ("B**", (8, 1, 1), "B**"),
        ("b,*", (8, 1), "B*"),
        (["BLOCK", "*", "block"], (2, 1, 4), "B*B"),
        (None, (2, 4, 1), "BB*"),
        ("BB", (8, 1), "BB"),
    ],
)
def test_schemas_are_read_as_letters_and_words(given_schema, mesh, text):
    assert as_schema(given_schema, mesh) == text


LETTERS = 'Write B for block and * for whole, such as "B**".'
POSITIONS = "Give the positions in each dimension, such as 2, 4 and 1."


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: as_schema("B*", (8, 1, 1)),
            f"schema must have one letter for each of the 3 dimensions, got B*. {LETTERS}",
        ),
        (lambda: as_schema("BC", (8, 1)), f"schema must consist of B and *, got BC. {LETTERS}"),
        (
            lambda: as_schema("**", (8, 1)),
            "mesh must have 1 position in each dimension that is whole in **, got 8x1. Change the "
            "mesh, or write B for that dimension.",
        ),
        (
            lambda: as_mesh((8, 1), 3),
            f"mesh must have one number for each of the 3 dimensions, got 8x1. {POSITIONS}",
        ),
        (
            lambda: as_mesh((8, 0), 2),
            f"mesh[1] must be a whole number of at least 1, got 0. {POSITIONS}",
        ),
        (
            lambda: as_shape((2,) * 7),
            "shape must have 1 to 6 dimensions, got 7. Join dimensions that are next to each "
            "other.",
        ),
        (
            lambda: as_shape("512x512"),
            "shape must be a sequence, got '512x512'. Give the extents, the slowest first, such "
            "as 512, 512 and 512.",
        ),
        (
            lambda: block_edges(8, 2, "cyclic"),
            'policy must be "balanced" or "hpf", got \'cyclic\'. Choose one.',
        ),
    ],
)
def test_what_is_no_distribution_is_refused(call, says, refusal):
    assert refusal(ParameterError, call) == says
