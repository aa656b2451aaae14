"""What an SVG file is made of: elements, numbers, colours, and how wide a text will be."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final

from parcast.errors import one_line
from parcast.show.pictures.colours import BLACK, BLUE, GREY, NOT_ALLOWED, PALE

SIZES: Final = {"x-small": 6.9, "small": 8.3, "medium": 10.0, "large": 12.0}  # of letters [pt]
LINE: Final = 1.25  # height of a line, over the size of its letters
NARROW, WIDE, CAPITAL, OTHER = 0.33, 0.9, 0.69, 0.58  # widths of letters, over their size
FONTS: Final = "system-ui, Segoe UI, Roboto, Helvetica Neue, DejaVu Sans, sans-serif"
NAMED: Final = {"white": "#FFFFFF", "black": BLACK, "none": "none"}
SHADES: Final = {  # of HATCHES: a line across a tile, or a dot in it
    "/": "M-1,1 l2,-2 M0,4 l4,-4 M3,5 l2,-2",
    ".": "M1,2 h1.2",
}


@dataclass(slots=True)
class Paint:
    """The colours of a picture as they are written, and the hatches that it needs."""

    prefix: str = "parcast"  # of ids, of which a page may have no two alike
    themed: Mapping[str, str] = field(default_factory=dict)  # colours that a page chooses
    hatches: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def __call__(self, colour: Any) -> str:
        """Write a colour, given by its name, as #0072B2, or by red, green and blue from 0 to 1."""
        if not isinstance(colour, str):
            red, green, blue = (round(255 * float(x)) for x in tuple(colour)[:3])
            colour = f"#{red:02X}{green:02X}{blue:02X}"
        colour = NAMED.get(colour, colour)
        return self.themed.get(colour, colour)

    def hatched(self, colour: Any, line: Any, hatch: str) -> str:
        """Write a colour with hatches upon it."""
        key = (self(colour), self(line), hatch)
        name = self.hatches.setdefault(key, f"{self.prefix}-hatch-{len(self.hatches)}")
        return f"url(#{name})"

    def definitions(self) -> str:
        """Write the hatches that were asked for."""
        tiles = []
        for (colour, line, hatch), name in self.hatches.items():
            size = 16 / len(hatch)
            stroke = element(
                "path", d=SHADES[hatch[0]], stroke=line, stroke_width="0.9", fill="none"
            )
            ground = element("rect", width=4, height=4, fill=colour)
            tile = {"viewBox": "0 0 4 4", "width": number(size), "height": number(size)}
            tiles.append(
                element(
                    "pattern",
                    ground + stroke,
                    id=name,
                    patternUnits="userSpaceOnUse",
                    **tile,
                )
            )
        return element("defs", "".join(tiles)) if tiles else ""


PAGE: Final = {  # colours that the style of a page sets, for light and dark
    BLACK: "currentColor",
    "#FFFFFF": "var(--paper)",
    PALE: "var(--grid)",
    NOT_ALLOWED: "var(--shade)",
    GREY: "var(--grey)",
    BLUE: "var(--blue)",
}
NOTEBOOK: Final = {  # the same where no style may be set for all: light ones by default
    colour: name.replace("--", "--parcast-").replace(")", f", {colour})")
    for colour, name in PAGE.items()
}


def element(name: str, content: str = "", **attributes: Any) -> str:
    """Write an element; an attribute that is None or "" is left out, `stroke_width` is escaped.

    >>> element("path", d="M0,0", stroke_width=2, title=None)
    '<path d="M0,0" stroke-width="2"/>'
    """
    given = "".join(
        f' {key.replace("_", "-")}="{escape(number(value))}"'
        for key, value in attributes.items()
        if value is not None and value != ""
    )
    return f"<{name}{given}>{content}</{name}>" if content else f"<{name}{given}/>"


def number(value: Any) -> str:
    """Write a number to a hundredth of a point, and anything else as it is.

    >>> number(2.0), number(1 / 3), number("0.9")
    ('2', '0.33', '0.9')
    """
    return value if isinstance(value, str) else f"{float(value):.2f}".rstrip("0").rstrip(".")


def path_of(points: Iterable[Iterable[float]]) -> str:
    """Write the path through some points [pt]."""
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points)


def written(
    text: str,
    x: float,
    y: float,
    *,
    size: str | float = "medium",
    anchor: str = "start",
    fill: str = "",
    turned: bool = False,
) -> str:
    """Write a text, in lines from `y` on, the base of the first; turned by a right angle up."""
    points = size_of(size)
    lines = text.split("\n")
    if len(lines) == 1:
        content = escape(one_line(text))
    else:
        content = "".join(
            element("tspan", escape(one_line(line)) or " ", x=x, dy=points * LINE * bool(i))
            for i, line in enumerate(lines)
        )
    turn = f"rotate(-90 {number(x)} {number(y)})" if turned else ""
    return element(
        "text",
        content or " ",
        x=x,
        y=y,
        font_size=points,
        text_anchor="" if anchor == "start" else anchor,
        fill=fill,
        transform=turn,
    )


def size_of(size: str | float) -> float:
    """Size of letters [pt]."""
    return SIZES[size] if isinstance(size, str) else float(size)


def width_of(text: str, size: str | float = "medium") -> float:
    """Estimate the width of the longest line of a text [pt].

    >>> round(width_of("time [s]"))
    37
    """
    return max(sum(map(_width, line)) for line in text.split("\n")) * size_of(size)


def height_of(text: str, size: str | float = "medium") -> float:
    """Height of the lines of a text, 0 of none [pt]."""
    return LINE * size_of(size) * (text.count("\n") + 1) if text else 0.0


def _width(letter: str) -> float:
    """Width of a letter over its size, as in most fonts without serifs."""
    if letter in "ijlt.,:;|!'()[]/ ":
        return NARROW
    if letter in "mwMW%@…" or ord(letter) > 0x2E80:
        return WIDE
    return CAPITAL if letter.isupper() else OTHER
