"""Times of a described program on a described machine: `parcast predict`.

`grid` spreads the question over arrays, `predict` asks the laws, `surface` and `lines` draw it.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    """Give `Prediction` to results pickled when this was a module, and to nobody else."""
    if name != "Prediction":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from parcast.prediction.result import Prediction

    return Prediction
