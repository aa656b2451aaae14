"""What sites ask a proposal for computing time for, each item with its source.

The items are those that timings bear on. Forms change from call to call: read the current one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

ARCHER2: Final = "https://www.archer2.ac.uk/support-access/ta/"
NCAR: Final = (
    "https://ncar-hpc-docs.readthedocs.io/en/latest/allocations/"
    "determining-computational-resource-needs/"
)
NCAR_LARGE: Final = (
    "https://ncar-hpc-docs.readthedocs.io/en/latest/allocations/university-allocations/"
    "university-large-allocation-request-preparation-instructions/"
)
NCAR_ASD: Final = "https://www2.cisl.ucar.edu/university-asd (2022)"
INCITE: Final = (
    "https://webarchive.library.unt.edu/web/20130318141405/https://hpc.science.doe.gov/"
    "allocations/incite/instructions.do (2013)"
)
INCITE_CALL: Final = "https://www.doeleadershipcomputing.org/proposal/call-for-proposals/"
FOUR: Final = 4  # points of a scaling graph, at least


@dataclass(frozen=True, slots=True)
class SiteItem:
    """One item that a site asks for, and the part of a proposal that has it."""

    asked: str
    part: str  # of `PARTS`; "" for what timings say nothing of
    source: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemGiven:
    """An item that a site asks for, and where this proposal has it."""

    _outline: ClassVar[str] = "item given where source"

    item: str  # what the site asks for
    given: bool  # whether the proposal has it
    where: str  # in which part of the proposal, or what to add
    source: str  # where the site says so


PARTS: Final[Mapping[str, str]] = {  # where each part stands; after "|" what to do where it misses
    "scaling": "table of scaling",
    "points": f"table of scaling|measure at least {FOUR} counts",
    "linear": "figure, linear axes",
    "efficiency": "table of scaling and figure",
    "largest": "largest count used efficiently",
    "jobs": "table of jobs",
    "hours": "table of jobs",
    "request": "request",
    "method": "how the hours were determined",
    "unit": "hours for a unit of science|give --per-run, such as '10 simulated years'",
    "memory": "table of jobs|measure memory, and give --cores-per-node",
    "storage": "table of jobs|give --storage, what a run leaves",
    "full nodes": "table of jobs|give --cores-per-node",
    "": "|add it yourself",
}

SITES: Final[Mapping[str, tuple[SiteItem, ...]]] = {
    "archer2": (
        SiteItem("Table of run time against nodes", "scaling", ARCHER2),
        SiteItem("Plot of run time on a linear axis (optional)", "linear", ARCHER2),
        SiteItem("Parallel efficiency on a linear axis (optional)", "efficiency", ARCHER2),
        SiteItem("Evidence up to the job sizes asked for", "largest", ARCHER2),
        SiteItem("CU asked for, backed by the evidence", "request", ARCHER2),
        SiteItem("CU of each period of 6 months", "", ARCHER2),
    ),
    "incite": (
        SiteItem("Characterisation of the jobs, also of ensembles", "jobs", INCITE),
        SiteItem("Benchmark data: scaling", "scaling", INCITE),
        SiteItem("Runs that use a large part of the system", "largest", INCITE_CALL),
        SiteItem("Benchmark data: on which system, and how extrapolated", "method", INCITE),
        SiteItem("Storage and processing of data", "storage", INCITE_CALL),
        SiteItem("Node-hours asked for", "request", INCITE_CALL),
    ),
    "ncar": (
        SiteItem("Graph of scaling with at least four points", "points", NCAR),
        SiteItem("How the scaling data were generated", "method", NCAR),
        SiteItem("Memory of a run, and the fewest nodes that have it", "memory", NCAR),
        SiteItem("Count chosen, and up to which it scales", "largest", NCAR),
        SiteItem("Core-hours of a simulation, simulations, total", "hours", NCAR),
        SiteItem("All cores of each node charged", "full nodes", NCAR_LARGE),
        SiteItem("Core-hours for a simulated year, and how determined", "unit", NCAR_ASD),
        SiteItem("Volume of output of each experiment", "storage", NCAR_LARGE),
    ),
}


def items_of(site: str, has: Mapping[str, bool]) -> Iterator[ItemGiven]:
    """Say of each item that a site asks for whether a proposal has it."""
    for item in SITES[site]:
        where, _, missing = PARTS[item.part].partition("|")
        given = has.get(item.part, bool(item.part))
        yield ItemGiven(
            item=item.asked,
            given=given,
            where=where if given else missing,
            source=item.source,
        )
