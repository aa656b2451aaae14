"""Options of `parcast match` whose text is more than a word: limits, a certainty and prices.

Most functions are click callbacks: they take the text of an option and return what it means.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from parcast.cli.failures import AXES, OPTIONS, Spelling
from parcast.units import shown

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine


_NAMED = re.compile(r"(.+?=[^,=]*)(?:,|$)")  # a comma ends a price only: names may hold some


@dataclass(frozen=True, slots=True)
class Budget:
    """Highest cost, as it was written, and its currency where it was named."""

    text: str
    value: float
    currency: str


def budget(_: click.Context, __: click.Parameter, text: str | None) -> Budget | None:
    """Read a number above 0, perhaps with a currency after it."""
    if text is None:
        return None
    number, *currency = text.split(maxsplit=1) or [""]
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise click.UsageError(
            f"--budget must be a number above 0, got {text!r:.60}. Write such as 500, or "
            '"500 EUR".'
        )
    return Budget(text, value, "".join(currency))


def certainty(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """Read a probability from a half up to below 1, such as 0.9 or 90%."""
    if text is None:
        return None
    try:
        share = float(text[:-1]) / 100 if text.strip().endswith("%") else float(text)
    except ValueError:
        share = 0.0
    if not 0.5 <= share < 1:
        raise click.UsageError(
            f"--certainty must lie between 50% and 100%, got {text!r:.60}. Write such as 90%."
        )
    return share


def prices(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> dict[str, str]:
    """Read names of machines and what a processor-hour costs on each."""
    by_name: dict[str, str] = {}
    for text in [part for each in texts for part in _NAMED.findall(each) or [each]]:
        name, equals, price = map(str.strip, text.rpartition("="))
        if not (name and equals and price):
            raise click.UsageError(
                f"--price must be machines and prices of a processor-hour, got {text!r:.60}. "
                'Write such as "T3E=0.5,SP=0.2".'
            )
        if name in by_name:
            raise click.UsageError(
                f"--price must name a machine once, got {name!r:.60} twice. Leave one out."
            )
        by_name[name] = price
    return by_name


def check_budget(requested: Budget | None, machines: Sequence["Machine"]) -> None:
    """Refuse a budget in another currency than the prices."""
    priced = {machine.price.currency for machine in machines} - {""}
    if requested and requested.currency and priced and requested.currency not in priced:
        raise click.UsageError(
            f"--budget must be in {shown(' or '.join(sorted(priced)))}, as the prices are, got "
            f"{requested.text!r:.60}. Convert it."
        )


def options_of_match(*, runs: str, donors: Sequence[str]) -> Mapping[str, Spelling]:
    """What the command line calls the arguments of `match`, and tables by their files."""
    return {
        **OPTIONS,
        **AXES,
        "prices": _price,
        "runs": "the table",
        "table the runs": runs,
        "table donors": ", ".join(donors),
    }


def _price(prices: Mapping[str, float] | None) -> str:
    """Name the option, perhaps with prices: it is quoted, as names hold blanks."""
    given = ",".join(f"{name}={price}" for name, price in (prices or {}).items())
    return f'--price "{given}"' if given else "--price"
