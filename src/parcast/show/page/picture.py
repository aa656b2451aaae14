"""The picture of an answer in a page, with a switch to linear axes where its own are logarithmic.

Both are drawn, and a style shows one of them, so that the switch works without a script.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from parcast.errors import ParameterError
from parcast.show.pictures.canvas import linear_svg_of, svg_of
from parcast.show.pictures.elements import PAGE, Paint

if TYPE_CHECKING:
    from parcast.show.result import Result


class PagePicture(NamedTuple):
    """A picture as SVG."""

    svg: str
    linear: str = ""  # the same on linear axes; "" where it has no logarithmic ones


def pictures_of(
    result: "Result", mark: str, words: str, *, is_linear: bool | None = None, **options: Any
) -> list[PagePicture]:
    """Draw a result, if it has a picture; ids begin with a mark, and words say what it shows.

    Axes are as the result has them or linear as told, without a switch; by default both are drawn.
    """
    if not result._picture:
        return []
    draw = partial(result._drawn, **options)
    try:
        own = Paint(prefix=mark, themed=PAGE)
        svg = svg_of(draw, own, is_linear=bool(is_linear), description=words)
        if is_linear is not None:
            return [PagePicture(svg)]
        paint = Paint(prefix=f"{mark}-linear", themed=PAGE)
        return [PagePicture(svg, linear_svg_of(draw, paint, description=words))]
    except ParameterError:  # it has too few values for one
        if any(options.values()):  # but this one was asked for
            raise
        return []


def figure_of(picture: PagePicture, mark: str) -> Iterator[str]:
    """Give a picture as a part of a page, with its switch; a mark is no other's of the page."""
    box = '<div class="scroll{}" tabindex="0" role="group" aria-label="Picture">\n{}\n</div>\n'
    yield "<figure>\n"
    if picture.linear:
        yield (
            f'<input type="checkbox" class="switch" id="linear-{mark}">'
            f'<label for="linear-{mark}">Linear axes</label>\n'
        )
    yield box.format("", picture.svg)
    if picture.linear:
        yield box.format(" linear", picture.linear)
    yield "<figcaption></figcaption>\n</figure>\n"
