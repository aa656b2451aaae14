"""Times of a described program on a described machine: `parcast predict`.

`grid` spreads the question over arrays, `predict` asks the laws, `notes` says what limits;
pictures are `lines`, and over two axes those of `surface`.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    """Give `Prediction` to results pickled when this was a module, and to nobody else."""
    if name != "Prediction":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from parcast.prediction.result import Prediction

    return Prediction
