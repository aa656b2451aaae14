"""Modules by the names they had, so that results pickled by an earlier version can be read.

A pickle names the module of every class in it. `FormerModules` stands at the end of Python's list
of finders and is asked only for names that nothing else knows.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec


PACKAGES: Final = ("parcast.models", "parcast.verbs")
FORMER: Final = {
    "parcast.amounts": "parcast.descriptions.amount",
    "parcast.breakdown": "parcast.descriptions.breakdown",
    "parcast.calibration_result": "parcast.calibration.result",
    "parcast.characterise_result": "parcast.characterisation.result",
    "parcast.counted_result": "parcast.projection.result",
    "parcast.description": "parcast.descriptions.description",
    "parcast.elsewhere": "parcast.forecasting.donors.curve",
    "parcast.fit_result": "parcast.fitting.result",
    "parcast.machine": "parcast.descriptions.machine",
    "parcast.match_result": "parcast.matching.result",
    "parcast.measurements": "parcast.timings.measurements",
    **{
        f"parcast.models.{law}": "parcast.laws.independent_inputs"
        for law in ("fractal", "monte_carlo")
    },
    **{f"parcast.models.{law}": "parcast.laws.matrices" for law in ("gauss", "matmul")},
    **{
        f"parcast.models.{law}": "parcast.laws.sorters"
        for law in ("merge_sort", "sort", "square_sort")
    },
    "parcast.models.regions": "parcast.laws.regions",
    "parcast.models.steady_state": "parcast.laws.counting",
    "parcast.models.stencil": "parcast.laws.stencil",
    "parcast.program": "parcast.descriptions.program",
    "parcast.result": "parcast.forecasting.result",
    "parcast.series": "parcast.timings.series",
    "parcast.simulation_result": "parcast.simulation.result",
    "parcast.validation_result": "parcast.validation.result",
    "parcast.verbs.capacity_result": "parcast.fitting.capacity_result",
    "parcast.verbs.knee": "parcast.forecasting.knee",
    "parcast.verbs.planned_run": "parcast.forecasting.next_runs.result",
}


class FormerModules:
    """Finds a module by the name it had: a finder and loader for ``sys.meta_path``."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> "ModuleSpec | None":  # noqa: ARG004 - Python's signature
        """Describe a module that was moved; None for every other name."""
        if name not in FORMER and name not in PACKAGES:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, FormerModules, is_package=name in PACKAGES)  # type: ignore[arg-type]  # a class serves as its own loader

    @staticmethod
    def create_module(spec: "ModuleSpec") -> None:
        """Leave it to Python to make an empty module."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Let the module answer with the names of the one that took its place."""
        if module.__name__ in FORMER:
            new = import_module(FORMER[module.__name__])
            module.__getattr__ = lambda name: getattr(new, name)  # type: ignore[method-assign]  # PEP 562
