"""What the page is asked, as it stands in its address: files, fields, and amounts that are set.

An address is checked whole: what is not valid in it is refused by name. The values of fields are
checked by the commands that they go to.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlencode

from parcast.errors import ParameterError
from parcast.units import shown
from parcast.web.folder import PageFile

SET: Final = "set."  # before the name of an amount: its text
AXES, LINEAR = "axes", "linear"  # of pictures
POWER: Final = "x."  # and the power of two that it is multiplied by
MOST_POWER: Final = 6.0  # of two, either way: a factor of 64
LONGEST: Final = 200  # characters of a value
MOST_KEYS: Final = 400


@dataclass(frozen=True, slots=True)
class PageField:
    """A field of the page that gives the value of an option."""

    name: str  # in the address
    option: str
    label: str
    example: str
    group: str = ""  # of fields that are folded
    choices: Sequence[str] = ()


RUNS: Final = "Forecast from runs"
GOALS: Final = "Goals of the decision"
FIELDS: Final = {
    x.name: x
    for x in (
        PageField("p", "-p", "Processor counts", "1..64x2"),
        PageField("d", "-d", "Disks or I/O servers", "1,2,4"),
        PageField("n", "-n", "Problem size", "1e6"),
        PageField("vary", "--vary", "A parameter as another axis", "network.latency=1..100us"),
        PageField("hold_out", "--hold-out", "Counts to test the forecast on", "64", RUNS),
        PageField("donors", "--donors", "Runs on other machines", "", RUNS),
        PageField("scaling", "--scaling", "Scaling", "", RUNS, ("auto", "strong", "weak")),
        PageField("what_if", "--what-if", "Less of a part", "serial/2", RUNS),
        PageField("within", "--within", "Longest time", "2h", GOALS),
        PageField("budget", "--budget", "Highest cost", "5000 core-h", GOALS),
        PageField("efficiency", "--efficiency", "Least efficiency", "50%", GOALS),
        PageField("certainty", "--certainty", "Certainty", "90%", GOALS),
        PageField("counts", "--counts", "Counts the program can use", "power-of-two", GOALS),
        PageField("cores_per_node", "--cores-per-node", "Cores of a node", "48", GOALS),
    )
}


@dataclass(frozen=True, kw_only=True, slots=True)
class PageState:
    """What is asked."""

    files: Sequence[PageFile] = ()
    fields: Mapping[str, str] = field(default_factory=dict)  # those that are not empty
    texts: Mapping[str, str] = field(default_factory=dict)  # of amounts
    powers: Mapping[str, float] = field(default_factory=dict)  # of two, other than 0
    is_linear: bool = False  # axes of pictures

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]], files: Sequence[PageFile]) -> "PageState":
        """Read the pairs of an address; without a file named, all are chosen."""
        known = {x.name: x for x in files}
        chosen: list[PageFile] = []
        fields: dict[str, str] = {}
        texts: dict[str, str] = {}
        powers: dict[str, float] = {}
        is_linear = False
        for i, (key, given) in enumerate(pairs):
            value = given.strip()
            if i >= MOST_KEYS or len(value) > LONGEST or not (value or given).isprintable():
                _refuse(key, f"have at most {LONGEST} characters, without line ends", value)
            if key == "file":
                if value not in known:
                    _refuse(key, "name a file of this page", value, "Add the file first.")
                chosen.append(known[value])
            elif key == AXES:
                if value != LINEAR:
                    _refuse(key, f"be {LINEAR}", value, "Leave it out for those of each picture.")
                is_linear = True
            elif key in FIELDS:
                fields |= {key: value} if value else {}
            elif key.startswith(SET):
                texts |= {key.removeprefix(SET): value} if value else {}
            elif key.startswith(POWER):
                powers |= _power(key, value)
            else:
                _refuse(key, "be a field of this page", value, "Leave it out of the address.")
        donors = fields.get("donors")
        if donors and donors not in known:
            _refuse("donors", "name a file of this page", donors, "Add the file first.")
        own = tuple(dict.fromkeys(chosen or files))
        tables = {x.name for x in own if x.kind == "timings"}
        if donors and tables == {donors}:
            _refuse(
                "donors", "be another table than the one to forecast", donors, "Choose it too."
            )
        return cls(files=own, fields=fields, texts=texts, powers=powers, is_linear=is_linear)

    def of_kind(self, kind: str) -> list[PageFile]:
        """Chosen files of a kind, without donors."""
        return [x for x in self.files if x.kind == kind and x.name != self.fields.get("donors")]

    @property
    def version(self) -> str:
        """What tells these files from others of their names."""
        return " ".join(f"{x.name}:{x.sha256[:12]}" for x in self.files)

    def without(self, amount: str) -> "PageState":
        """Give it with an amount as its file has it."""
        texts = {x: y for x, y in self.texts.items() if x != amount}
        powers = {x: y for x, y in self.powers.items() if x != amount}
        return replace(self, texts=texts, powers=powers)

    def query(self) -> str:
        """Write it as an address has it."""
        pairs = [("file", x.name) for x in self.files]
        pairs += [*self.fields.items()]
        pairs += [(f"{SET}{name}", text) for name, text in self.texts.items()]
        pairs += [(f"{POWER}{name}", f"{x:g}") for name, x in self.powers.items()]
        pairs += [(AXES, LINEAR)] if self.is_linear else []
        return urlencode(pairs)


def _power(key: str, value: str) -> dict[str, float]:
    """Read the place of a slider; nothing where it is not moved."""
    try:
        power = float(value or 0)
    except ValueError:
        power = math.nan
    if not abs(power) <= MOST_POWER:
        _refuse(key, f"be a number from -{MOST_POWER:g} to {MOST_POWER:g}", value, "Move it back.")
    return {key.removeprefix(POWER): power} if power else {}


def _refuse(key: str, must: str, got: str, hint: str = "Correct it.") -> None:
    raise ParameterError(f"{shown(key)}", must=must, got=shown(repr(got)), hint=hint)
