"""The speedup over two axes as a surface in space, coloured by the efficiency.

Over processors and disks it is the surface s(p, d) of the literature. Both axes are logarithmic
where their values allow; ticks are labelled with the values themselves.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.plot.canvas import new_figure
from parcast.plot.colours import COLOURS, add_efficiency_bar, efficiency_norm
from parcast.plot.grid import Shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELLS: Final = 41  # of the mesh, in each direction
PLACE: Final = (-0.02, 0.05, 0.88, 0.88)  # in the figure: left, bottom, width, height [1]
BAR: Final = (0.88, 0.18, 0.022, 0.6)
EYE: Final[dict[str, float]] = {"elev": 30.0, "azim": -75.0}  # sees both flanks [degrees]
EDGES: Final = (4.0, 2.0)  # of the box, as they are seen [inch]


def draw_surface(shown: Shown) -> "Figure":
    """Draw the speedup over the two axes shown; in `house_style`."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable

    (x, y), speedup = shown.even(shown.prediction.speedup, CELLS)
    _, efficiency = shown.even(shown.prediction.efficiency, CELLS)
    colours = ScalarMappable(efficiency_norm(efficiency), colormaps[COLOURS])
    figure = new_figure(height=5.4)
    figure.set_layout_engine("none")  # it would leave half of the figure empty around the box
    ax: Any = figure.add_axes(PLACE, projection="3d")
    ax.plot_surface(
        *np.meshgrid(x, y, indexing="ij"),
        speedup,
        rstride=1,
        cstride=1,
        facecolors=colours.to_rgba(efficiency),
        shade=False,
        edgecolor=(0, 0, 0, 0.3),
        linewidth=0.3,
    )
    ax.view_init(**EYE)
    first, second = shown.axes
    ticks, labels = first.ticks(EDGES[0])
    ax.set_xticks(first.places(np.array(ticks)), labels=labels)
    ax.set_xlabel(first.label, labelpad=8, parse_math=False)
    ticks, labels = second.ticks(EDGES[1])
    ax.set_yticks(second.places(np.array(ticks)), labels=labels)
    ax.set_ylabel(second.label, labelpad=8, parse_math=False)
    ax.set_zlim(0, None)
    ax.zaxis.set_rotate_label(False)
    ax.set_zlabel("speedup", labelpad=4, rotation=90)
    ax.set_box_aspect((1.45, 1.1, 0.9), zoom=1.1)
    add_efficiency_bar(colours, cax=figure.add_axes(BAR))
    return figure
