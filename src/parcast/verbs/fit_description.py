"""A description with fitted amounts in place of the described ones."""

import re
from collections.abc import Mapping
from typing import Any, Final

from parcast.amounts import WIDEST
from parcast.fit_result import FittedParameter
from parcast.machine import Machine
from parcast.program import Program
from parcast.units import NUMBER, format_quantity, in_percent

DIGITS: Final = 6
_SCALED = re.compile(rf"\s*({NUMBER}) \* \((.*)\)\s*", re.DOTALL)
_PLUS_MINUS = re.compile(r"\+/?-|\u00b1")


def fitted_text(parameter: FittedParameter) -> str:
    """Text of a fitted amount: its value with its unit, or its formula scaled, and its interval.

    >>> from math import nan
    >>> volume = FittedParameter(
    ...     name="communication.volume", dimension="size", is_of_machine=False, scale=None,
    ...     described="1.07 * (8 MB / p) +- 5%", factor=2.0, lower=1.9, upper=2.1,
    ...     determined="runs",
    ... )
    >>> fitted_text(volume)
    '2.14 * (8 MB / p) +- 5.1%'
    """
    if parameter.value is not None:
        text = format_quantity(parameter.value, parameter.dimension, digits=DIGITS)
        if parameter.dimension == "time" and parameter.value >= 60.0:
            text = f"{parameter.value:.{DIGITS}g} s"  # "2 d" would be twice the disks
    else:
        formula, factor = _PLUS_MINUS.split(parameter.described)[0].strip(), parameter.factor
        found = _SCALED.fullmatch(formula)
        if found and _is_balanced(found[2]):  # fitted before
            formula, factor = found[2], factor * float(found[1])
        text = f"{factor:.{DIGITS}g} * ({formula})"
    if parameter.spread is not None and parameter.spread <= WIDEST:
        text += f" +- {in_percent(parameter.spread)}%"
    return text


def _is_balanced(text: str) -> bool:
    """Whether no bracket closes that was opened outside."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return True


def fitted_program(program: Program, texts: Mapping[str, str]) -> Program:
    """Program whose amounts of these names have these texts."""
    phases = []
    for i, phase in enumerate(program.phase):
        label = program.label(i)
        names = {f"{label}.{name}" if label else name: name for name, _ in phase.amounts()}
        inner = {names[long]: text for long, text in texts.items() if long in names}
        phases.append(type(phase)(**_replaced(phase.model_dump(exclude_none=True), inner)))
    return program.model_copy(update={"phase": tuple(phases)})


def fitted_machine(machine: Machine, texts: Mapping[str, str]) -> Machine:
    """Machine whose amounts of these names have these texts."""
    return Machine(**_replaced(machine.model_dump(exclude_none=True), texts))


def _replaced(keys: dict[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """Replace what stands under "table.key"."""
    for name, text in texts.items():
        *tables, key = name.split(".")
        place = keys
        for table in tables:
            place = place[table]
        place[key] = text
    return keys
