"""A calibration as a machine file: each value with its spread, below a comment on its origin.

What no key of a machine holds becomes a comment at the end: facts without a key, the line of each
primitive for each P, and its pieces where a protocol switches, which a file with one formula for
all sizes cannot hold. The JSON document has all of them with their tables.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from parcast.calibration.benchmarks.machine_figures import MachineFigures, SourcedFigure, written
from parcast.calibration.primitives import half_width, primitive_formulas
from parcast.calibration.primitives_file import (
    PLACEMENTS,
    UNKNOWN,
    few_counts,
    line_remarks,
    primitive_figures,
    primitives_without_rate,
    with_spread,
)
from parcast.calibration.result import Calibration, Measured
from parcast.descriptions.description import Description
from parcast.descriptions.machine import PRIMITIVES, Machine
from parcast.show.outline import document_of
from parcast.words import counted, joined

TABLES: Final = ("compute", "node", "network", "storage")  # with plain keys, in their order


def machine_keys() -> tuple[str, ...]:
    """Keys of a machine file that have a value with a unit, in its order."""
    described = Machine()
    plain = [f"{table}.{key}" for table in TABLES for key in _fields(getattr(described, table))]
    calls = [
        f"primitives.{name}.{key}"
        for name in PRIMITIVES
        for key in _fields(getattr(described.primitives, name))
    ]
    return (*plain, *calls)


def machine_figures(
    calibration: Calibration, *, others: Sequence[MachineFigures] = (), name: str | None = None
) -> MachineFigures:
    """What a machine file holds of a calibration and of what other benchmarks tell.

    `to_toml()` is the file. Where both know a key, that of the other benchmarks is taken.
    """
    plain = ("processors", "oversubscribed_from", "node.processors", "storage.servers")
    order = {key: i for i, key in enumerate((*plain, *machine_keys()))}
    figures = {x.key: x for x in [*_values(calibration), *primitive_figures(calibration)]}
    figures |= {x.key: x for each in others for x in each.figures}
    theirs = {x.key for each in others for x in each.figures}
    sources = [_source(calibration), *(f"other values from {x.source}" for x in others)]
    return MachineFigures(
        name=name or calibration.name,
        source="; ".join(sources),
        figures=tuple(sorted(figures.values(), key=lambda x: (_table_of(x.key), order[x.key]))),
        remarks=(
            *_facts(calibration, known=order),
            *primitives_without_rate(calibration),
            *line_remarks(calibration, leave_out=theirs),
            *(remark for each in others for remark in each.remarks),
        ),
        warnings=(*calibration.warnings, *few_counts(calibration)),
        notes=(*few_counts(calibration), *(note for each in others for note in each.notes)),
    )


def calibration_document(calibration: Calibration, figures: MachineFigures) -> dict[str, Any]:
    """Everything as one JSON document, ``parcast/calibration/1``, with primitives and file."""
    return {
        **calibration.to_document(),
        "primitives": [document_of(formula) for formula in primitive_formulas(calibration)],
        "machine": [*map(document_of, figures.figures)],
    }


def _fields(table: Description) -> Iterator[str]:
    """Names of the amounts of a table: all but whole numbers."""
    return (key for key in type(table).model_fields if key not in ("processors", "servers"))


def _table_of(key: str) -> int:
    table = key.rpartition(".")[0]
    return ["", *TABLES, *(f"primitives.{x}" for x in PRIMITIVES)].index(table)


def _values(calibration: Calibration) -> Iterator[SourcedFigure]:
    """Give the measured values that have a key."""
    host = calibration.host
    processors = "hosts" if host.hosts else "cores"
    source = f"usable {processors} of {host.name}"
    if host.hosts or "free" not in host.placement.values():  # else ranks were on other hosts too
        yield SourcedFigure(key="processors", text=str(host.hosts or host.cores), source=source)
    if is_oversubscribed(calibration):
        source = "from here on ranks took turns on one core"
        yield SourcedFigure(key="oversubscribed_from", text=str(host.cores + 1), source=source)
    known = set(machine_keys())
    stored = [x for x in calibration.measured if x.key.startswith("storage.") and x.key in known]
    if stored:
        source = f"{host.directory} is described as one server, whatever its hardware"
        yield SourcedFigure(key="storage.servers", text="1", source=source)
    if any(x.key.startswith("node.") for x in calibration.measured):
        share = math.ceil(max(host.placement) / host.hosts) if host.hosts else host.cores
        source = "ranks of a host" if host.hosts else f"usable cores of {host.name}"
        yield SourcedFigure(key="node.processors", text=str(share), source=source)
    for each in calibration.measured:
        if each.key in known and 0 <= each.value < math.inf:
            text = with_spread(written(each.value, each.dimension), _spread(each))
            yield SourcedFigure(key=each.key, text=text, source=_origin(each, calibration.date))


def is_oversubscribed(calibration: Calibration) -> bool:
    """Whether a value of the file is of ranks that shared a core."""
    host = calibration.host
    shared = [ranks for ranks, how in host.placement.items() if how == "one" and ranks > 1]
    on_one_core = host.cores == 1 and bool(shared)  # the network too
    return on_one_core or any(x.shares_a_core for x in primitive_formulas(calibration))


def _spread(each: Measured) -> float | None:
    """Half-width of a value as +- has it; None of what the system tells."""
    return half_width(each.value, each.lower, each.upper) if each.launches else None


def _origin(each: Measured, date: str) -> str:
    """Say in one line how a value came about."""
    if not each.launches:
        return f"{each.method}, {date[:10]}"
    facts = [
        each.method,
        f"{date[:10]}, {counted(each.launches, 'launch')}",
        counted(each.repetitions, "timing"),
    ]
    if each.outliers:
        outliers = counted(each.outliers, "outlier")
        facts.append(f"{outliers}, the slowest {each.worst:.3g}x the median")
    if each.disturbed:
        facts.append(f"{each.disturbed} left out (another program used a core)")
    if each.launches == 1:
        facts.append(UNKNOWN)
    if not each.settled:
        facts.append("not converged")
    return ", ".join(facts)


def _facts(calibration: Calibration, *, known: Mapping[str, Any]) -> Iterator[str]:
    """Give the values that no key holds."""
    for each in calibration.measured:
        if each.key not in known or not 0 <= each.value < math.inf:
            text = with_spread(written(each.value, each.dimension), _spread(each))
            yield f"{each.key} = {text}; {each.method}"


def _source(calibration: Calibration) -> str:
    """Say in one line where and how all was measured."""
    host = calibration.host
    facts = [f"parcast calibrate on {host.name}, {calibration.date[:16].replace('T', ' ')}"]
    facts.append(f"{host.model or host.system}, {counted(host.cores, 'core')}")
    if host.mpi:
        facts.append(host.mpi)
    places: dict[str, list[str]] = {}
    for ranks, how in sorted(host.placement.items()):
        if ranks > 1:
            places.setdefault(how, []).append(str(ranks))
    facts += [
        f"{joined(counts)} ranks {PLACEMENTS.get(how, how)}" for how, counts in places.items()
    ]
    if math.isfinite(host.load_before):
        facts.append(f"load {host.load_before:.2g} before and {host.load_after:.2g} after")
    if host.governor:
        facts.append(f"governor {host.governor}")
    if calibration.was_interrupted:
        facts.append("interrupted")
    return ", ".join(facts)
