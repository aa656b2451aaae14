"""One line of a profile: a rank of a run as JSON has it, every key checked."""

from collections.abc import Mapping
from typing import Any, Final

from parcast.files.faults import Faults
from parcast.files.numbers import is_number, whole
from parcast.timings.profile import KINDS, SCHEMA, RankRecord, RegionTotal
from parcast.units import shown
from parcast.words import did_you_mean

MOST_REGIONS: Final = 10_000  # of one rank: more are a name made anew in every pass
LARGEST: Final = (
    1e30  # of a number, as of a time of `Measurements`, so that what follows is finite
)
LARGEST_WHOLE: Final = 10**15  # of ranks, passes and threads, which a float holds exactly
_FAMILY: Final = SCHEMA.rpartition("/")[0]


class _Keys:
    """The keys of a JSON object, taken one by one; what is wrong with one is noted."""

    def __init__(self, document: Mapping[str, Any], place: str, line: int, faults: Faults) -> None:
        self._document, self._place = document, place
        self._line, self._faults = line, faults

    def fault(self, key: str, message: str) -> None:
        """Note what is wrong with a key."""
        field = f"{self._place}.{key}" if self._place and key else self._place or key
        self._faults.add(message, line=self._line, field=field)

    def _given(self, key: str) -> Any:
        if key not in self._document:
            self.fault(key, "must be given. Name a file that PARCAST_PROFILE wrote.")
        return self._document.get(key)

    def text(self, key: str) -> str:
        """Take text that can be printed."""
        given = self._given(key)
        if isinstance(given, str) and given.strip() and given.isprintable():
            return given
        if key in self._document:
            self.fault(key, f"must be printable text, got {shown(repr(given))}.")
        return ""

    def number(self, key: str) -> float:
        """Take a finite number of at least 0."""
        given = self._given(key)
        if is_number(given) and 0 <= given <= LARGEST:
            return _measured(given)
        if key in self._document:
            self.fault(
                key,
                f"must be a number from 0 to {LARGEST:g}, got {shown(repr(given))}. "
                "Make the run again.",
            )
        return 0.0

    def whole(self, key: str, least: int) -> int:
        """Take a whole number."""
        given = self._given(key)
        if isinstance(given, int) and whole(given, least=least, most=LARGEST_WHOLE) is not None:
            return given
        if key in self._document:
            domain = f"from {least} to {LARGEST_WHOLE:g}"
            self.fault(key, f"must be a whole number {domain}, got {shown(repr(given))}.")
        return least

    def numbers(self, key: str, *, may_be_negative: bool) -> dict[str, float]:
        """Take an object of finite numbers."""
        given = self._given(key)
        if not isinstance(given, dict):
            if key in self._document:
                self.fault(key, f"must be an object of numbers, got {shown(repr(given))}.")
            return {}
        numbers = {}
        least = -LARGEST if may_be_negative else 0.0
        for name, value in given.items():
            if is_number(value) and least <= value <= LARGEST:
                numbers[name] = _measured(value)
            else:
                wrong = f"must be a number from {least:g} to {LARGEST:g}"
                self.fault(f"{key}.{shown(name)}", f"{wrong}, got {shown(repr(value))}.")
        return numbers


def _measured(number: float) -> float:
    """Take a number; one too small to divide by is 0."""
    return float(number) if abs(number) * LARGEST >= 1 else 0.0


def record_of(document: Any, line: int, faults: Faults) -> RankRecord | None:
    """Rank's record in what a line holds as JSON; None where something is wrong and noted."""
    before = len(faults)
    if not isinstance(document, dict) or not str(document.get("schema", "")).startswith(_FAMILY):
        faults.add(
            f'must be a rank\'s record, with "schema": "{SCHEMA}", got '
            f"{shown(repr(document))}. Name a file that PARCAST_PROFILE wrote.",
            line=line,
        )
        return None
    if document["schema"] != SCHEMA:
        faults.add(
            f'must be "{SCHEMA}", got "{shown(document["schema"])}". This version of parcast '
            "cannot read it: use the version that wrote it, or make the run again.",
            line=line,
            field="schema",
        )
        return None
    keys = _Keys(document, "", line, faults)
    p = keys.whole("p", 1)
    rank = keys.whole("rank", 0)
    if rank >= p:
        keys.fault("rank", f"must be below p = {p}, got {rank}. Ranks are counted from 0.")
    record = RankRecord(
        program=keys.text("program"),
        rank=rank,
        p=p,
        begun=keys.number("begun"),
        span=keys.number("span_s"),
        entry=keys.number("entry_s"),
        other_threads=keys.whole("other_threads", 0),
        parameters=keys.numbers("parameters", may_be_negative=True),
        regions=_regions(document, keys, line, faults),
        overlapping=keys.whole("overlapping", 0) if "overlapping" in document else 0,
        version=str(document.get("parcast", "")),
        host=str(document.get("host", "")),
        quanta=tuple(x for x in _quanta(document, keys).values() if x > 0),
        waited=keys.number("waited_s") if "waited_s" in document else None,
        line=line,
    )
    return record if len(faults) == before else None


def _quanta(document: Mapping[str, Any], keys: _Keys) -> dict[str, float]:
    """Times of a fixed piece of work, which older profiles do not have. [s]."""
    return keys.numbers("quanta_s", may_be_negative=False) if "quanta_s" in document else {}


def _regions(
    document: Mapping[str, Any], keys: _Keys, line: int, faults: Faults
) -> tuple[RegionTotal, ...]:
    """Totals of the regions of a rank."""
    given = document.get("regions")
    if not isinstance(given, list) or not given or not all(isinstance(x, dict) for x in given):
        keys.fault(
            "regions", f"must be a list of regions, at least one, got {shown(repr(given))}."
        )
        return ()
    if len(given) > MOST_REGIONS:
        keys.fault(
            "regions",
            f"must be at most {MOST_REGIONS:,}, got {len(given):,}. Give all passes of a region "
            "one name.",
        )
        return ()
    totals: dict[str, RegionTotal] = {}
    for number, region in enumerate(given, start=1):
        label = region.get("name")
        place = f'region "{label}"' if isinstance(label, str) else f"region {number}"
        total = _region(_Keys(region, shown(place), line, faults))
        if total.name in totals:
            keys.fault("regions", f'must have names that differ, got "{total.name}" twice.')
        totals[total.name] = total
    return tuple(totals.values())


def _region(keys: _Keys) -> RegionTotal:
    """Totals of one region."""
    kind = keys.text("kind")
    if kind and kind not in KINDS:
        hint = did_you_mean(kind, KINDS) or f" Known are {', '.join(KINDS)}."
        keys.fault("kind", f'must be a known kind, got "{shown(kind)}".{hint}')
    return RegionTotal(
        name=keys.text("name"),
        kind=kind,
        entries=keys.whole("entries", 0),
        wall=keys.number("wall_s"),
        processor=keys.number("processor_s"),
        squares=keys.number("squares_s2"),
        iterations=keys.number("iterations"),
        calls=keys.number("calls"),
        volume=keys.number("volume_B"),
        counts=keys.numbers("counts", may_be_negative=False),
    )
