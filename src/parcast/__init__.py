"""parcast: forecasts how a parallel program will scale.

The names below are loaded when first asked for, so that ``import parcast`` costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parcast.calibration_result import Calibration
    from parcast.errors import FileProblems, FitFailed, ParameterError, ParcastError
    from parcast.fit_result import Fit
    from parcast.instrument import profile_parameters, region
    from parcast.io.csv_table import read_measurements
    from parcast.io.formats.registry import import_timings
    from parcast.io.profiles import read_profiles
    from parcast.io.speedup_table import read_runs
    from parcast.io.toml_description import read_machine, read_program
    from parcast.machine import Machine
    from parcast.measurements import Measurements
    from parcast.prediction import Prediction
    from parcast.program import Program
    from parcast.result import Forecast
    from parcast.simulation_result import Simulation
    from parcast.validation_result import Validation
    from parcast.verbs.best_processors import best_processors
    from parcast.verbs.calibrate import calibrate
    from parcast.verbs.call_paths import largest_regions
    from parcast.verbs.capacities import capacities
    from parcast.verbs.characterise import characterise
    from parcast.verbs.fit import fit
    from parcast.verbs.forecast import forecast
    from parcast.verbs.knee import Knee, knee
    from parcast.verbs.match import match
    from parcast.verbs.plan_runs import plan_runs
    from parcast.verbs.predict import predict
    from parcast.verbs.run import run_kernel
    from parcast.verbs.simulate import simulate
    from parcast.verbs.validate import validate

__version__ = "0.1.0.dev0"
__all__ = [
    "Calibration",
    "FileProblems",
    "Fit",
    "FitFailed",
    "Forecast",
    "Knee",
    "Machine",
    "Measurements",
    "ParameterError",
    "ParcastError",
    "Prediction",
    "Program",
    "Simulation",
    "Validation",
    "best_processors",
    "calibrate",
    "capacities",
    "characterise",
    "fit",
    "forecast",
    "import_timings",
    "knee",
    "largest_regions",
    "match",
    "plan_runs",
    "predict",
    "profile_parameters",
    "read_machine",
    "read_measurements",
    "read_profiles",
    "read_program",
    "read_runs",
    "region",
    "run_kernel",
    "simulate",
    "validate",
]

_HOME = {
    "Calibration": "parcast.calibration_result",
    "FileProblems": "parcast.errors",
    "Fit": "parcast.fit_result",
    "FitFailed": "parcast.errors",
    "Forecast": "parcast.result",
    "Knee": "parcast.verbs.knee",
    "Machine": "parcast.machine",
    "Measurements": "parcast.measurements",
    "ParameterError": "parcast.errors",
    "ParcastError": "parcast.errors",
    "Prediction": "parcast.prediction",
    "Program": "parcast.program",
    "Simulation": "parcast.simulation_result",
    "Validation": "parcast.validation_result",
    "best_processors": "parcast.verbs.best_processors",
    "calibrate": "parcast.verbs.calibrate",
    "capacities": "parcast.verbs.capacities",
    "characterise": "parcast.verbs.characterise",
    "fit": "parcast.verbs.fit",
    "forecast": "parcast.verbs.forecast",
    "import_timings": "parcast.io.formats.registry",
    "knee": "parcast.verbs.knee",
    "largest_regions": "parcast.verbs.call_paths",
    "match": "parcast.verbs.match",
    "plan_runs": "parcast.verbs.plan_runs",
    "predict": "parcast.verbs.predict",
    "profile_parameters": "parcast.instrument",
    "read_machine": "parcast.io.toml_description",
    "read_measurements": "parcast.io.csv_table",
    "read_profiles": "parcast.io.profiles",
    "read_program": "parcast.io.toml_description",
    "read_runs": "parcast.io.speedup_table",
    "region": "parcast.instrument",
    "run_kernel": "parcast.verbs.run",
    "simulate": "parcast.verbs.simulate",
    "validate": "parcast.verbs.validate",
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
