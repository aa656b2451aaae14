"""Pictures over two axes as SVG: contours, fields of colours and surfaces in space."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from parcast.show.pictures.canvas import linear_svg_of
from parcast.show.pictures.colours import ColourScale
from parcast.show.pictures.contours import areas_above
from parcast.show.pictures.elements import Paint
from parcast.show.pictures.fields import ColourField, Told
from parcast.show.pictures.figure import SvgFigure
from parcast.show.pictures.marks import AreaMark
from parcast.show.pictures.space import SpaceAxis, SpaceSurface, Stems

NAME = "{http://www.w3.org/2000/svg}"
X, Y = np.linspace(0.0, 2.0, 9), np.linspace(0.0, 1.0, 5)
PLANE = X[:, np.newaxis] + Y  # from 0 to 3


def area(ring):
    x, y = ring.T
    return abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2


def field_of(**scale):
    scale = {"low": 0.0, "high": 3.0, "title": "sum"} | scale
    texts = [[f"{x:g}, {y:g}" for y in (0, 1)] for x in (0, 1, 2)]
    told = Told(x=np.array([0.0, 1.0, 2.0]), y=np.array([0.0, 1.0]), texts=texts)
    return ColourField(x=X, y=Y, values=PLANE, scale=ColourScale(**scale), told=told)


def drawn(figure):
    return ElementTree.fromstring(figure.to_svg())


def test_areas_are_all_that_is_above_and_have_no_points_on_straight_lines():
    [[low], [high]] = areas_above(X, Y, PLANE, [1.0, 2.0])
    assert area(low) == pytest.approx(1.5)
    assert area(high) == pytest.approx(0.5)
    assert len(low) < 10  # of 20 on the way


def test_a_hole_is_a_ring_of_its_own():
    x = np.linspace(-100.0, 100.0, 41)
    [rings] = areas_above(x, x, np.hypot(x[:, np.newaxis], x), [50.0])
    outer, hole = sorted(map(area, rings), reverse=True)
    assert outer == pytest.approx(200.0**2)
    assert hole == pytest.approx(np.pi * 50.0**2, rel=0.02)


def test_places_of_a_field_say_what_is_there():
    axes = SvgFigure(8.0, 4.0).add_subplot()
    axes.field(field_of())
    axes.set(xlim=(0, 2), ylim=(0, 1))
    svg = drawn(axes.figure)
    told = [x for x in svg.iter(f"{NAME}path") if x.find(f"{NAME}title") is not None]
    said = [x.findtext(f"{NAME}title") for x in told]
    assert said == ["0, 0", "0, 1", "1, 0", "1, 1", "2, 0", "2, 1"]
    corners = np.array([pair.split(",") for pair in told[2].get("d")[1:-1].split("L")], float)
    [(x, y)] = axes.transform([(1.0, 0.0)])
    assert corners[:, 0].min() < x < corners[:, 0].max()
    assert corners[:, 1].max() == pytest.approx(axes.space.height - y, abs=0.1)


def test_cells_that_were_not_measured_are_left_out():
    axes = SvgFigure(8.0, 4.0).add_subplot()
    values = np.array([[0.1, np.nan], [-0.2, 0.0]])
    scale = ColourScale(low=-0.2, high=0.2, title="error", colours="RdBu_r")
    axes.cells(ColourField(x=np.arange(2.0), y=np.arange(2.0), values=values, scale=scale))
    filled = {x.get("fill") for x in drawn(axes.figure).iter(f"{NAME}path")}
    assert {"#053061", "#F7F7F7"} <= filled
    assert len([x for x in axes.marks if isinstance(x, AreaMark)]) == 3


def test_areas_with_names_have_no_linear_axes():
    def draw():
        axes = SvgFigure(8.0, 4.0, is_linear=True).add_subplot()
        axes.set_xscale("log")
        if is_field:
            axes.field(field_of())
        return axes.figure

    is_field = False
    assert linear_svg_of(draw, Paint())
    is_field = True
    assert linear_svg_of(draw, Paint()) == ""


def edge(low, high):
    return SpaceAxis(low=low, high=high, ticks=[low, high], labels=["low", "high"], title="t")


def surface_of(**more):
    axes = (edge(0.0, 2.0), edge(0.0, 1.0), edge(0.0, 3.0))
    scale = ColourScale(low=0.0, high=3.0, title="sum")
    return SpaceSurface(x=X, y=Y, heights=PLANE, values=PLANE, scale=scale, axes=axes, **more)


def test_what_is_nearer_is_drawn_later_and_lower():
    axes = SvgFigure(8.0, 4.0).add_subplot()
    axes.surface(replace(surface_of(), heights=0.0 * PLANE))
    svg = drawn(axes.figure)
    [mesh] = [x for x in svg.iter(f"{NAME}g") if x.get("stroke-opacity") == "0.3"]
    starts = [
        tuple(map(int, piece.partition("l")[0].split()))
        for path in mesh
        for piece in path.get("d").split("M")[1:]
    ]
    assert len(starts) == 8 * 4
    for column in np.reshape(starts, (8, 4, 2)):  # one place of x, from the last of y
        assert np.all(np.diff(column[:, 1]) > 0)


def test_points_below_the_surface_have_dashed_stems():
    x, y = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    low = x + y
    stems = Stems(x=x, y=y, low=low, high=low + x - 0.5, texts=["below", "above"], label="run")
    axes = SvgFigure(8.0, 4.0).add_subplot()
    axes.surface(surface_of(stems=stems))
    svg = drawn(axes.figure)
    assert len([x for x in svg.iter(f"{NAME}path") if x.get("stroke-dasharray")]) == 1
    assert [x.findtext(f"{NAME}title") for x in svg.iter(f"{NAME}circle")] == ["below", "above"]
