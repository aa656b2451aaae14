"""`parcast.arrays.store.grid`: boxes and cells against sets of indices."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from parcast.arrays.geometry.boxes import Box
from parcast.arrays.store.grid import CellGrid

extents = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=1, max_size=3)


def elements(box):
    return {*product(*(range(a, b) for a, b in zip(box.start, box.stop, strict=True)))}


@given(extents)
def test_cells_cover_every_element_once(given_extents):
    shape, cell = zip(*given_extents, strict=True)
    grid = CellGrid(shape, cell)
    found = [element for index in grid.indices() for element in elements(grid.box(index))]
    assert len(found) == len({*found})
    assert {*found} == elements(Box((0,) * len(shape), shape))


@given(extents, st.data())
def test_touching_gives_the_cells_that_share_an_element(given_extents, data):
    shape, cell = zip(*given_extents, strict=True)
    grid = CellGrid(shape, cell)
    start = tuple(data.draw(st.integers(0, n)) for n in shape)
    count = tuple(data.draw(st.integers(0, n - s)) for n, s in zip(shape, start, strict=True))
    box = Box(start, count)
    wanted = [index for index in grid.indices() if elements(grid.box(index)) & elements(box)]
    assert list(grid.touching(box)) == wanted
    for index in wanted:
        assert elements(grid.box(index) & box) == elements(grid.box(index)) & elements(box)
