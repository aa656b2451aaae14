"""A characterised program as a file: a `regions` phase in TOML, with what it rests on above it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parcast.models.count_formulas import CountFormula
from parcast.units import format_quantity, in_percent
from parcast.verbs.characterise_loops import LEAST_SPREAD, Loop


@dataclass(frozen=True, kw_only=True, slots=True)
class Called:
    """A region that communicates or accesses files, as the program file has it."""

    name: str
    kind: str  # as a program file has it
    calls: CountFormula
    volume: CountFormula | None  # of one call [B]; None where no bytes go


def keys_of_loop(loop: Loop, rate: float | None) -> dict[str, str]:
    """Keys of a loop in a program file.

    Parameters
    ----------
    loop : Loop
    rate : float, optional
        Operations of a second on the machine of the runs; where it is given, iterations are
        written as operations. [1/s]

    Returns
    -------
    dict of str
    """
    unit = "s" if rate is None else "flop"
    text = _scaled(loop.iteration, 1.0 if rate is None else rate, unit)
    if loop.spread >= LEAST_SPREAD:
        text += f" +- {in_percent(loop.spread)}%"
    keys = {"name": loop.name, "kind": loop.kind}
    if loop.calls.text != "1":
        keys["calls"] = loop.calls.text
    return {**keys, "iterations": loop.iterations.text, "iteration": text}


def keys_of_called(called: Called) -> dict[str, str]:
    """Keys of a region that is no loop in a program file."""
    keys = {"name": called.name, "kind": called.kind, "calls": called.calls.text}
    if called.volume is not None:
        keys["volume"] = called.volume.times("B")
    return keys


def program_text(
    name: str, source: str, remarks: Sequence[str], regions: Sequence[Mapping[str, str]]
) -> str:
    r"""Text of a program file.

    >>> print(program_text("jacobi", "2 runs", ["E by processor time."],
    ...                    [{"name": "sweep", "kind": "loop", "iteration": "1 us"}]), end="")
    # E by processor time.
    name = "jacobi"
    source = "2 runs"
    <BLANKLINE>
    [[phase]]
    law = "regions"
    <BLANKLINE>
    [[phase.region]]
    name = "sweep"
    kind = "loop"
    iteration = "1 us"
    """
    lines = [f"# {remark}" for remark in remarks]
    lines += [f"name = {_quoted(name)}", f"source = {_quoted(source)}"]
    lines += ["", "[[phase]]", 'law = "regions"']
    for region in regions:
        lines += ["", "[[phase.region]]", *(f"{k} = {_quoted(x)}" for k, x in region.items())]
    return "\n".join(lines) + "\n"


def _scaled(formula: CountFormula, factor: float, unit: str) -> str:
    """Text of a time or of operations; a plain one in the unit that reads best."""
    scaled = formula.scaled(factor)
    constant = scaled.constant
    if constant is not None:
        return format_quantity(constant, "time" if unit == "s" else "operations", 6)
    return scaled.times(unit)


def _quoted(text: str) -> str:
    """Write text as a TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
