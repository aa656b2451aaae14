"""The part of a prediction that one picture shows, and the axes it is drawn over.

A picture has one or two axes. Those of a prediction that have one value are no axes of a picture;
of more than it can show, the first are shown and the others are fixed at their largest value.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.prediction.result import Prediction
from parcast.show.pictures.canvas import sources_of
from parcast.show.pictures.scales import (
    CHARACTER,
    LINE,
    MARGIN,
    even_ticks,
    fitting_ticks,
    inches,
    round_ticks,
)
from parcast.units import Dimension, format_quantity, quantity, shown
from parcast.words import axis_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes


COUNTED: Final = {"p": "processors p", "d": "disks d", "n": "problem size n"}
FEWEST_WRITTEN: Final = 4  # values of an axis that are its ticks
MOST_WRITTEN: Final = 12
LONGEST: Final = 5  # characters of one of them
TITLE_CHARACTERS: Final = 84  # of a line


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class GridAxis:
    """One axis of a prediction, ready to be drawn along."""

    name: str
    values: Array  # ascending, each once [SI]
    order: NDArray[np.intp] = field(repr=False)  # where they stand in the prediction
    dimension: Dimension = "count"

    @property
    def is_logarithmic(self) -> bool:
        """Whether it is drawn so: not where it begins at 0."""
        return bool(self.values[0] > 0)

    @property
    def unit(self) -> str:
        """The unit that suits its values; "" of what has none."""
        if self.dimension == "count":
            return ""
        return format_quantity(self._middle, self.dimension).rpartition(" ")[2]

    @property
    def factor(self) -> float:
        """SI units in one of its unit."""
        if not self.unit:
            return 1.0
        return quantity(f"1 {self.unit}", self.dimension, name=self.name)

    @property
    def _middle(self) -> float:
        """A value in the middle of its scale, never 0."""
        low, high = self.values[[0, -1]].tolist()
        return float((low * high) ** 0.5 if low > 0 else high / 2)

    @property
    def heading(self) -> str:
        """What stands above a list of its values: "disks d", "network bandwidth"."""
        return COUNTED.get(self.name) or readable_name(self.name)

    @property
    def label(self) -> str:
        """What stands beside it: "processors p", "network bandwidth [MB/s]"."""
        return f"{self.heading} [{self.unit}]" if self.unit else self.heading

    def text(self, value: float) -> str:
        """Write a value of it, with its unit."""
        return axis_value(value, self.dimension)

    def says(self, value: float) -> str:
        """Write a value of it with its name: "d = 4", "network bandwidth = 27 MB/s"."""
        name = self.name if self.name in COUNTED else readable_name(self.name)
        return f"{name} = {self.text(value)}"

    def places(self, values: Array) -> Array:
        """Where values lie along it, where a scale cannot be set: at their binary logarithms."""
        return np.log2(values) if self.is_logarithmic else values

    def values_at(self, places: Array) -> Array:
        """Undo `places`."""
        return np.exp2(places) if self.is_logarithmic else places

    def ticks(self, width: float) -> tuple[list[float], list[str]]:
        """Values to label and what to write there, as many as fit into `width` inches."""
        low, high = self.values[[0, -1]].tolist()
        if self.name in ("p", "d"):
            ends = self.values[[0, -1]]
            counts = ends if np.all(np.log2(ends) % 1 == 0) else self.values
            ticks = fitting_ticks(counts, width)
        elif self.is_logarithmic and self._are_short:
            ticks = [x * self.factor for x in fitting_ticks(self.values / self.factor, width)]
        else:
            most = max(int(width / (7 * CHARACTER)), 3)
            ticks = [x * self.factor for x in self._round(low, high, most)]
        return ticks, [f"{tick / self.factor:.6g}" for tick in ticks]

    @property
    def _are_short(self) -> bool:
        """Whether its values are few, and can be written at it."""
        few = FEWEST_WRITTEN <= len(self.values) <= MOST_WRITTEN
        return few and all(len(f"{x / self.factor:.6g}") <= LONGEST for x in self.values)

    @property
    def _is_whole(self) -> bool:
        """Whether it counts something."""
        return self.dimension == "count" and bool(np.all(self.values % 1 == 0))

    def _round(self, low: float, high: float, most: int) -> list[float]:
        """Round numbers along it, in its unit."""
        low, high = low / self.factor, high / self.factor
        if self.is_logarithmic:
            ticks = round_ticks(low * (1 - 1e-9), high * (1 + 1e-9), most)
            if len(ticks) > 2:
                return ticks
        return even_ticks(low, high, min(most, 6), is_whole=self._is_whole)

    def scale(self, ax: "Axes", which: Literal["x", "y"] = "x", *, margin: float = MARGIN) -> None:
        """Make one of the two axes of a picture this one: scale, limits, ticks and label."""
        across, up = inches(ax)
        low, high = self.values[[0, -1]].tolist()
        ticks, labels = self.ticks(across if which == "x" else up * CHARACTER / LINE * 4)
        if self.is_logarithmic:
            ends = (low / (high / low) ** margin, high * (high / low) ** margin)
        else:
            ends = (low - margin * (high - low), high + margin * (high - low))
        kind = "log" if self.is_logarithmic else "linear"
        if which == "x":
            ax.set(xscale=kind, xlim=ends)
            ax.set_xlabel(self.label, parse_math=False)
            ax.set_xticks(ticks, labels=labels)
        else:
            ax.set(yscale=kind, ylim=ends)
            ax.set_ylabel(self.label, parse_math=False)
            ax.set_yticks(ticks, labels=labels)
        ax.minorticks_off()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Shown:
    """What one picture shows of a prediction."""

    prediction: Prediction
    axes: tuple[GridAxis, ...]  # of the picture
    fixed: tuple[str, ...]  # the others, in words: "n = 64"
    left_out: bool  # whether one of these has more values

    def of(self, array: Array) -> Array:
        """Take from an array of the prediction what is shown, with the dimensions of `axes`."""
        everything = np.broadcast_to(array, self.prediction.shape)
        own = {axis.name: axis for axis in self.axes}
        at = tuple(
            own[name].order if name in own else int(np.argmax(values))
            for name, values in self.prediction.axes.items()
        )
        positions = np.ix_(*(np.atleast_1d(each) for each in at))
        names = [name for name in self.prediction.axes if name in own]
        taken = everything[positions].reshape([len(own[name].values) for name in names])
        return np.transpose(taken, [names.index(axis.name) for axis in self.axes])

    def even(self, array: Array, cells: int) -> tuple[list[Array], Array]:
        """Interpolate an array linearly to `cells` places, even along each of both axes."""
        return self.evened(self.of(array), cells)

    def evened(self, values: Array, cells: int) -> tuple[list[Array], Array]:
        """Interpolate what is shown of an array, as `even` does."""
        places = []
        for k, axis in enumerate(self.axes):
            given = axis.places(axis.values)
            wanted = np.linspace(given[0], given[-1], cells)
            after = np.clip(np.searchsorted(given, wanted), 1, len(given) - 1)
            share = (wanted - given[after - 1]) / (given[after] - given[after - 1])
            low, high = np.take(values, after - 1, k), np.take(values, after, k)
            values = low + (high - low) * np.expand_dims(share, 1 - k)
            places.append(wanted)
        return places, values

    @property
    def notes(self) -> list[str]:
        """What stands in small print below a picture."""
        return sources_of(self.prediction.inputs)

    def turned(self) -> "Shown":
        """Give the same with the second axis across."""
        return replace(self, axes=self.axes[::-1])

    @property
    def title(self) -> str:
        """Program and machine, and the values that are fixed; possibly of two lines."""
        names = [shown(x, limit=40) for x in (self.prediction.program, self.prediction.machine)]
        title = " on ".join(names)
        if not self.fixed:
            return title
        largest = ", the largest of several values" if self.left_out else ""
        at = f"at {', '.join(self.fixed)}{largest}"
        return f"{title}\n{shown(at, limit=TITLE_CHARACTERS)}"


def shown_of(prediction: Prediction, most: int) -> Shown:
    """Choose the first axes of a prediction with several values, `most` at most."""
    axes = [_axis(prediction, name, values) for name, values in prediction.axes.items()]
    long = [axis for axis in axes if len(axis.values) > 1]
    others = [axis for axis in axes if axis not in long[:most]]
    return Shown(
        prediction=prediction,
        axes=tuple(long[:most]),
        fixed=tuple(axis.says(float(axis.values[-1])) for axis in others),
        left_out=len(long) > most,
    )


def _axis(prediction: Prediction, name: str, values: Array) -> GridAxis:
    """Sort the values of an axis and find out what they are."""
    # What differs in the last digits only would lie at the same place.
    _, order = np.unique([float(f"{x:.12g}") for x in values], return_index=True)
    dimension = prediction.dimensions.get(name, "count")
    return GridAxis(name=name, values=values[order], order=order, dimension=dimension)


def readable_name(name: str) -> str:
    """Name of a parameter in words."""
    words = shown(name).replace(".", " ").replace("_", " ").split()
    return " ".join("I/O" if word == "io" else word for word in words)


def thinned(axis: GridAxis, most: int) -> NDArray[np.intp]:
    """Which values of an axis to draw where `most` will do: evenly along it, both ends too."""
    places = axis.places(axis.values)
    if len(places) <= most:
        return np.arange(len(places))
    targets = np.linspace(places[0], places[-1], most)
    after = np.clip(np.searchsorted(places, targets), 1, len(places) - 1)
    nearer = np.where(targets - places[after - 1] < places[after] - targets, after - 1, after)
    return np.unique(nearer)
