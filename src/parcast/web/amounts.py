"""Amounts of a program and a machine, as the page shows, scales and exports them."""

import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from parcast.errors import FileProblems, ParameterError, ParcastError
from parcast.units import EXPECTED, format_quantity
from parcast.web.folder import PageFile
from parcast.web.state import PageState

if TYPE_CHECKING:
    from parcast.descriptions.amount import Amount
    from parcast.descriptions.machine import Machine
    from parcast.descriptions.program import Program

COSTS: Final = ".io.costs."  # within names of amounts
DIGITS: Final = 4  # of a scaled amount
KEPT: Final = 32  # descriptions that were read last
_WHOLE: Final = re.compile(r"\s*[0-9]+\s*")


@dataclass(frozen=True, kw_only=True, slots=True)
class PageAmount:
    """An amount of a file, and what it is set to."""

    name: str
    file: str
    text: str  # in the file
    given: str  # in its field; "" if that is empty
    power: float  # place of its slider, a power of two
    now: str  # what the answer is computed with


def amounts_of(state: PageState) -> list[PageAmount]:
    """Give the amounts of the program and of the first machine, if both can be read."""
    programs, machines = state.of_kind("program"), state.of_kind("machine")
    if not (programs and machines):
        return []
    try:
        known = [(x.name, described(x).parameters()) for x in (programs[0], machines[0])]
    except ParcastError:
        return []  # the answer says what is wrong
    kept_apart = _files_of_costs(programs[0])
    return [
        _amount(state, file, name, amount)
        for file, amounts in known
        for name, amount in amounts.items()
        if not (kept_apart and COSTS in f".{name}")
    ]


@lru_cache(maxsize=KEPT)
def described(file: PageFile) -> "Program | Machine":
    """Read a program or a machine; one that was read last is known."""
    from parcast.descriptions.toml_files import read_machine, read_program

    return read_program(file.name) if file.kind == "program" else read_machine(file.name)


@lru_cache(maxsize=KEPT)
def _files_of_costs(file: PageFile) -> bool:
    """Whether a program has its costs in another file, where they cannot be set."""
    phases = tomllib.loads(Path(file.name).read_text(encoding="utf-8-sig")).get("phase", [])
    return any(isinstance(x.get("io", {}).get("costs"), str) for x in phases)


def varied_count(state: PageState) -> int:
    """How many values the field for another axis has; 1 where it is empty or refused."""
    from parcast.cli.ranges import parse_range

    name, _, text = state.fields.get("vary", "").partition("=")
    try:
        program, machine = (described(state.of_kind(x)[0]) for x in ("program", "machine"))
        amount = (machine.parameters() | program.parameters())[name.strip()]
        return len(parse_range(text, amount.dimension, name="--vary"))
    except (ParcastError, ValueError, KeyError, IndexError):
        return 1


def _amount(state: PageState, file: str, name: str, amount: "Amount") -> PageAmount:
    """Take an amount as it is set."""
    given, power = state.texts.get(name, ""), state.powers.get(name, 0.0)
    now = given or amount.text
    return PageAmount(
        name=name,
        file=file,
        text=amount.text,
        given=given,
        power=power,
        now=scaled(now, 2.0**power, amount) if power else now,
    )


def scaled(text: str, factor: float, like: "Amount") -> str:
    """Multiply an amount that is written as a text; what it is no amount of is left as it is.

    >>> from parcast.descriptions.amount import Amount
    >>> delay = Amount.of("150 us +- 10%", ["time"], name="network.latency")
    >>> scaled(delay.text, 2.0, delay), scaled("10 us * p", 2.0, delay)
    ('300 us +- 10%', '2 * (10 us * p)')
    """
    from parcast.descriptions.amount import Amount

    try:
        amount = Amount.of(text, [like.dimension, *EXPECTED], name=like.name)
    except ParcastError:
        return text  # the command refuses it by its name
    spread = f" +- {100 * amount.spread:.4g}%" if amount.spread else ""
    if amount.expression.axes:
        return f"{factor:.{DIGITS}g} * ({amount.expression.text}){spread}"
    if amount.dimension == "count" and _WHOLE.fullmatch(text):
        return f"{max(round(int(text) * factor), min(int(text), 1))}{spread}"
    value = float(amount.expression()) * factor
    return f"{format_quantity(value, amount.dimension, DIGITS)}{spread}"


def require_size(state: PageState) -> None:
    """Ask for a problem size where formulas of the program use it."""
    from parcast.descriptions.program import Program

    file = state.of_kind("program")[0]
    if "n" not in state.fields and "vary" not in state.fields:
        with suppress(FileProblems):  # the command says what is wrong
            program = described(file)
            if isinstance(program, Program) and "n" in program.axes():
                raise ParameterError(f"Enter a problem size n: formulas of {file.name} use it.")


def set_amounts(state: PageState) -> dict[str, str]:
    """Texts of those that differ from their files, by their names.

    What no file has is kept: the command refuses it, and says what may have been meant.
    """
    amounts = amounts_of(state)
    unknown = {*state.texts, *state.powers} - {x.name for x in amounts}
    given = {x.name: x.now for x in amounts if x.now != x.text}
    return given | {name: state.texts.get(name, "1") for name in sorted(unknown)}


def changed_description(file: PageFile, given: Mapping[str, str]) -> str:
    """Text of a file of the page with the amounts that are set in it."""
    from parcast.cli.described import changed

    before = described(file)
    own = {name: text for name, text in given.items() if name in before.parameters()}
    text = Path(file.name).read_text(encoding="utf-8-sig")
    return changed(text, own, before) if own else text
