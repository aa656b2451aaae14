"""parcast: forecasts how a parallel program will scale.

The names below are loaded when first asked for, so that ``import parcast`` costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parcast.errors import FileProblems, FitFailed, ParameterError, ParcastError
    from parcast.io.csv_table import read_measurements
    from parcast.measurements import Measurements
    from parcast.result import Forecast
    from parcast.verbs.forecast import forecast
    from parcast.verbs.knee import Knee, knee

__version__ = "0.1.0.dev0"
__all__ = [
    "FileProblems",
    "FitFailed",
    "Forecast",
    "Knee",
    "Measurements",
    "ParameterError",
    "ParcastError",
    "forecast",
    "knee",
    "read_measurements",
]

_HOME = {
    "FileProblems": "parcast.errors",
    "FitFailed": "parcast.errors",
    "Forecast": "parcast.result",
    "Knee": "parcast.verbs.knee",
    "Measurements": "parcast.measurements",
    "ParameterError": "parcast.errors",
    "ParcastError": "parcast.errors",
    "forecast": "parcast.verbs.forecast",
    "knee": "parcast.verbs.knee",
    "read_measurements": "parcast.io.csv_table",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module 'parcast' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted([*globals(), *__all__])
