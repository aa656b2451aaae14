"""parcast: forecasts how a parallel program will scale.

The names below are loaded when first asked for, so that ``import parcast`` costs nothing.
"""

from typing import TYPE_CHECKING

from parcast.places import public_names

if TYPE_CHECKING:
    from parcast.applications.sorting.result import SortedFile
    from parcast.applications.sorting.sort_file import sort_file
    from parcast.applications.text.search.result import SearchResult
    from parcast.applications.text.search.search_documents import search_documents
    from parcast.arrays.planning.plan_io import plan_io
    from parcast.arrays.planning.result import RequestPlan
    from parcast.arrays.subject import validate_array_io
    from parcast.calibration.calibrate import calibrate
    from parcast.calibration.result import Calibration
    from parcast.characterisation.characterise import characterise
    from parcast.characterisation.profiles.reading import read_profiles
    from parcast.characterisation.result import Characterisation
    from parcast.deciding.check.check import check
    from parcast.deciding.check.result import RegressionCheck
    from parcast.deciding.compare.compare import compare
    from parcast.deciding.compare.result import VersionComparison
    from parcast.deciding.explain.descriptions.result import DescriptionsExplained
    from parcast.deciding.explain.explain import explain
    from parcast.deciding.explain.profiles.result import ProfilesExplained
    from parcast.deciding.explain.timings.result import TimingsExplained
    from parcast.deciding.goals.plan import plan
    from parcast.deciding.goals.result import ResourcePlan
    from parcast.deciding.machines.match import match
    from parcast.deciding.machines.result import Match
    from parcast.deciding.proposal.propose import plan_proposal
    from parcast.deciding.proposal.result import Proposal
    from parcast.descriptions.machine import Machine
    from parcast.descriptions.program import Program
    from parcast.descriptions.toml_files import read_machine, read_program
    from parcast.errors import FileProblems, FitFailed, ParameterError, ParcastError, RunFailed
    from parcast.fitting.capacities import capacities
    from parcast.fitting.fit import fit
    from parcast.fitting.result import Fit
    from parcast.forecasting.forecast import forecast, largest_regions
    from parcast.forecasting.knee import Knee, knee
    from parcast.forecasting.memory.forecast_memory import forecast_memory
    from parcast.forecasting.memory.result import MemoryForecast
    from parcast.forecasting.next_runs.plan_runs import plan_runs
    from parcast.forecasting.result import Forecast
    from parcast.importers.registry import import_timings
    from parcast.instrument.regions import profile_parameters, region
    from parcast.kernels.run import run_kernel
    from parcast.kernels.trials.subject import validate
    from parcast.measurement.measure import measure
    from parcast.pipeline.explaining.explain import explain_pipeline
    from parcast.pipeline.explaining.result import PipelineSchedule
    from parcast.pipeline.explaining.timeline import Timeline, timeline_of
    from parcast.pipeline.planning.plan import plan_pipeline
    from parcast.pipeline.planning.result import PipelinePlan
    from parcast.pipeline.result import PipelineResult
    from parcast.pipeline.run import run_pipeline
    from parcast.pipeline.traces.trace import Trace, read_trace
    from parcast.pipeline.traces.traffic.check import check_traffic
    from parcast.pipeline.traces.traffic.result import TrafficCheck
    from parcast.pipeline.trials.subject import validate_pipeline
    from parcast.prediction.best_processors import best_processors
    from parcast.prediction.predict import predict
    from parcast.prediction.result import Prediction
    from parcast.prediction.trials.result import ProgramValidation
    from parcast.prediction.trials.validate import validate_program
    from parcast.projection.program import project
    from parcast.projection.result import CountedProjection, Projection
    from parcast.reports.report import report
    from parcast.saved.load import load
    from parcast.saved.result import SavedResult
    from parcast.show.result import Result
    from parcast.simulation.result import Simulation
    from parcast.simulation.simulate import simulate
    from parcast.timings.measurements import Measurements
    from parcast.timings.tables.files import read_measurements
    from parcast.validation.result import Validation


__all__ = [
    "Calibration",
    "Characterisation",
    "CountedProjection",
    "DescriptionsExplained",
    "FileProblems",
    "Fit",
    "FitFailed",
    "Forecast",
    "Knee",
    "Machine",
    "Match",
    "Measurements",
    "MemoryForecast",
    "ParameterError",
    "ParcastError",
    "PipelinePlan",
    "PipelineResult",
    "PipelineSchedule",
    "Prediction",
    "ProfilesExplained",
    "Program",
    "ProgramValidation",
    "Projection",
    "Proposal",
    "RegressionCheck",
    "RequestPlan",
    "ResourcePlan",
    "Result",
    "RunFailed",
    "SavedResult",
    "SearchResult",
    "Simulation",
    "SortedFile",
    "Timeline",
    "TimingsExplained",
    "Trace",
    "TrafficCheck",
    "Validation",
    "VersionComparison",
    "best_processors",
    "calibrate",
    "capacities",
    "characterise",
    "check",
    "check_traffic",
    "compare",
    "explain",
    "explain_pipeline",
    "fit",
    "forecast",
    "forecast_memory",
    "import_timings",
    "knee",
    "largest_regions",
    "load",
    "match",
    "measure",
    "plan",
    "plan_io",
    "plan_pipeline",
    "plan_proposal",
    "plan_runs",
    "predict",
    "profile_parameters",
    "project",
    "read_machine",
    "read_measurements",
    "read_profiles",
    "read_program",
    "read_trace",
    "region",
    "report",
    "run_kernel",
    "run_pipeline",
    "search_documents",
    "simulate",
    "sort_file",
    "timeline_of",
    "validate",
    "validate_array_io",
    "validate_pipeline",
    "validate_program",
]

_HOME = {
    "__version__": "parcast.version",
    "Calibration": "parcast.calibration.result",
    "Characterisation": "parcast.characterisation.result",
    "CountedProjection": "parcast.projection.result",
    "DescriptionsExplained": "parcast.deciding.explain.descriptions.result",
    "FileProblems": "parcast.errors",
    "Fit": "parcast.fitting.result",
    "FitFailed": "parcast.errors",
    "Forecast": "parcast.forecasting.result",
    "Knee": "parcast.forecasting.knee",
    "Machine": "parcast.descriptions.machine",
    "Match": "parcast.deciding.machines.result",
    "Measurements": "parcast.timings.measurements",
    "MemoryForecast": "parcast.forecasting.memory.result",
    "ParameterError": "parcast.errors",
    "ParcastError": "parcast.errors",
    "PipelinePlan": "parcast.pipeline.planning.result",
    "PipelineResult": "parcast.pipeline.result",
    "PipelineSchedule": "parcast.pipeline.explaining.result",
    "Prediction": "parcast.prediction.result",
    "ProgramValidation": "parcast.prediction.trials.result",
    "ProfilesExplained": "parcast.deciding.explain.profiles.result",
    "Program": "parcast.descriptions.program",
    "Projection": "parcast.projection.result",
    "Proposal": "parcast.deciding.proposal.result",
    "RegressionCheck": "parcast.deciding.check.result",
    "RequestPlan": "parcast.arrays.planning.result",
    "ResourcePlan": "parcast.deciding.goals.result",
    "Result": "parcast.show.result",
    "RunFailed": "parcast.errors",
    "SavedResult": "parcast.saved.result",
    "SearchResult": "parcast.applications.text.search.result",
    "Simulation": "parcast.simulation.result",
    "SortedFile": "parcast.applications.sorting.result",
    "Timeline": "parcast.pipeline.explaining.timeline",
    "TimingsExplained": "parcast.deciding.explain.timings.result",
    "Trace": "parcast.pipeline.traces.trace",
    "TrafficCheck": "parcast.pipeline.traces.traffic.result",
    "Validation": "parcast.validation.result",
    "VersionComparison": "parcast.deciding.compare.result",
    "best_processors": "parcast.prediction.best_processors",
    "calibrate": "parcast.calibration.calibrate",
    "capacities": "parcast.fitting.capacities",
    "characterise": "parcast.characterisation.characterise",
    "check": "parcast.deciding.check.check",
    "compare": "parcast.deciding.compare.compare",
    "check_traffic": "parcast.pipeline.traces.traffic.check",
    "explain": "parcast.deciding.explain.explain",
    "explain_pipeline": "parcast.pipeline.explaining.explain",
    "fit": "parcast.fitting.fit",
    "forecast": "parcast.forecasting.forecast",
    "forecast_memory": "parcast.forecasting.memory.forecast_memory",
    "import_timings": "parcast.importers.registry",
    "knee": "parcast.forecasting.knee",
    "largest_regions": "parcast.forecasting.forecast",
    "load": "parcast.saved.load",
    "match": "parcast.deciding.machines.match",
    "measure": "parcast.measurement.measure",
    "plan": "parcast.deciding.goals.plan",
    "plan_io": "parcast.arrays.planning.plan_io",
    "plan_pipeline": "parcast.pipeline.planning.plan",
    "plan_proposal": "parcast.deciding.proposal.propose",
    "plan_runs": "parcast.forecasting.next_runs.plan_runs",
    "predict": "parcast.prediction.predict",
    "profile_parameters": "parcast.instrument",
    "project": "parcast.projection.program",
    "read_machine": "parcast.descriptions.toml_files",
    "read_measurements": "parcast.timings.tables.files",
    "read_profiles": "parcast.characterisation.profiles.reading",
    "read_program": "parcast.descriptions.toml_files",
    "read_trace": "parcast.pipeline.traces.trace",
    "region": "parcast.instrument",
    "run_kernel": "parcast.kernels.run",
    "report": "parcast.reports.report",
    "run_pipeline": "parcast.pipeline.run",
    "search_documents": "parcast.applications.text.search.search_documents",
    "simulate": "parcast.simulation.simulate",
    "sort_file": "parcast.applications.sorting.sort_file",
    "timeline_of": "parcast.pipeline.explaining.timeline",
    "validate": "parcast.kernels.trials.subject",
    "validate_array_io": "parcast.arrays.subject",
    "validate_pipeline": "parcast.pipeline.trials.subject",
    "validate_program": "parcast.prediction.trials.validate",
}

__getattr__, __dir__ = public_names(globals(), _HOME)
