"""What a picture over two axes shows of a prediction: time, speedup, efficiency, power or cost.

    power(p) = E(p) / T(p)                                                    [1/s]    [S] (1)

E is the efficiency and T the time: the number of processors with the most power is the knee, at
which what another processor gains is worth what it costs [1]_.

References
----------
.. [1] D. L. Eager, J. Zahorjan and E. D. Lazowska, "Speedup versus efficiency in parallel
   systems," IEEE Trans. Comput., vol. 38, no. 3, pp. 408-423, 1989, :doi:`10.1109/12.21127`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.errors import ParameterError, require_one_of
from parcast.prediction.result import Prediction
from parcast.show.pictures.colours import (
    COLOURS,
    COLOURS_OF_TIMES,
    ColourScale,
    efficiency_scale,
)
from parcast.units import TIME_UNITS
from parcast.words import common_unit

WIDE: Final = 30.0  # ratio of values from which levels are powers, not even steps


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DrawnQuantity:
    """A quantity at every point of a prediction, and how it is drawn."""

    name: str
    values: Array  # of the shape of the prediction
    label: str  # with its unit
    factor: float = 1.0  # values in one of its unit
    colours: str = COLOURS

    @property
    def is_time(self) -> bool:
        """Whether little of it is good, as of a time or a cost."""
        return self.colours == COLOURS_OF_TIMES

    def is_wide(self, values: Array) -> bool:
        """Whether some of its values differ so much that their scale is logarithmic."""
        return self.is_time or bool(values.max() >= WIDE * values.min() > 0)

    def scale(self, values: Array) -> ColourScale:
        """Scale of colours for some of its values."""
        if self.name == "efficiency":
            return efficiency_scale(values)
        low, high = float(values.min()), float(values.max())
        is_wide = self.is_wide(values)
        return ColourScale(
            low=low if is_wide else 0.0,
            high=max(high, low * 1.01),  # not empty where all are equal
            title=self.label,
            factor=self.factor,
            is_logarithmic=is_wide,
            colours=self.colours,
        )

    def says(self, value: float) -> str:
        """Write a value of it with its name and unit: "time 3.2 s"."""
        unit = self.label.partition(" [")[2].rstrip("]")
        shown = value / self.factor
        return f"{self.name} {shown:.{4 if shown < 1e4 else 6}g} {unit}".rstrip()


def quantity_of(prediction: Prediction, name: str) -> DrawnQuantity:
    """Take a quantity from a prediction by its name, or refuse one that it has not."""
    require_one_of("quantity", name, QUANTITIES)
    return QUANTITIES[name](prediction)


def _time(prediction: Prediction) -> DrawnQuantity:
    unit = common_unit(np.ravel(prediction.time).tolist())
    return DrawnQuantity(
        name="time",
        values=prediction.time,
        label=f"time [{unit}]",
        factor=TIME_UNITS[unit],
        colours=COLOURS_OF_TIMES,
    )


def _speedup(prediction: Prediction) -> DrawnQuantity:
    return DrawnQuantity(name="speedup", values=prediction.speedup, label="speedup")


def _efficiency(prediction: Prediction) -> DrawnQuantity:
    values = prediction.efficiency
    return DrawnQuantity(name="efficiency", values=values, label="efficiency [%]", factor=0.01)


def _power(prediction: Prediction) -> DrawnQuantity:
    values = prediction.efficiency / prediction.time
    return DrawnQuantity(name="power", values=values, label="power: efficiency / time [1/s]")


def _cost(prediction: Prediction) -> DrawnQuantity:
    if prediction.cost is None:
        raise ParameterError(
            "quantity",
            must="be another one for a machine without a price",
            got='"cost"',
            hint="Add [price] with processor_hour to the machine.",
        )
    unit = f" [{prediction.currency}]" if prediction.currency else ""
    return DrawnQuantity(
        name="cost", values=prediction.cost, label=f"cost{unit}", colours=COLOURS_OF_TIMES
    )


QUANTITIES: Final[dict[str, Callable[[Prediction], DrawnQuantity]]] = {
    "time": _time,
    "speedup": _speedup,
    "efficiency": _efficiency,
    "power": _power,
    "cost": _cost,
}
