"""Figures of a forecast: what was measured, what is forecast from it, and how far to trust it."""

from parcast.plot.canvas import MissingPackage, save_figure, svg_text
from parcast.plot.figure import draw_efficiency, draw_times, figure_of

__all__ = [
    "MissingPackage",
    "draw_efficiency",
    "draw_times",
    "figure_of",
    "save_figure",
    "svg_text",
]
