"""What the times of a match rest on, in words: measured, forecast from which runs, projected."""

from collections.abc import Sequence

from parcast.measurements import Measurements
from parcast.models.ensemble import LAWS
from parcast.program import Program
from parcast.verbs.described_machines import listed
from parcast.verbs.donor_tables import machines_in
from parcast.verbs.match_outcomes import Outcomes


def law_of(what: Program | Measurements, found: Sequence[Outcomes]) -> str:
    """Name the law of the times.

    Parameters
    ----------
    what : Program or Measurements
        What was matched: the laws of a program are its own.
    found : sequence of Outcomes
        What may come out on each machine.

    Returns
    -------
    str
        Only what had a say is named: other machines that were given, but did not count, are not.
    """
    if isinstance(what, Program):
        return ", then ".join(dict.fromkeys(phase.law for phase in what.phase))
    ranked = machines_in(what)
    groups: dict[tuple[bool, bool], list[Outcomes]] = {}  # by which other machines have a say
    bases: dict[str, list[str]] = {}
    for x in found:
        if x.base:
            bases.setdefault(x.base, []).append(x.machine)
        elif not x.known.all():
            kind = any(y in ranked for y in x.donors), any(y not in ranked for y in x.donors)
            groups.setdefault(kind, []).append(x)
    if not groups and not bases:
        return "none: every time is measured"
    is_one = len(groups) == 1 and sum(map(len, groups.values())) == len(found) > 1
    texts = [_forecast(members, ranked, is_one=is_one) for members in groups.values()]
    texts = [f"forecast {'; '.join(texts)}"] if texts else []
    texts += [f"projection of {listed(names)} from {base}" for base, names in bases.items()]
    if any(x.known.any() for x in found):
        texts.append("measured times as they are")
    return "; ".join(texts)


def sources_of(what: Program | Measurements, found: Sequence[Outcomes]) -> tuple[str, ...]:
    """Name where the law comes from; nowhere, where every time is measured."""
    if isinstance(what, Program):
        return tuple(dict.fromkeys(phase.source_of_law for phase in what.phase))
    if all(x.known.all() for x in found):
        return ()
    return tuple(f"{name}: {law.source}" for name, (law, *_) in LAWS.items())


def _forecast(members: Sequence[Outcomes], ranked: Sequence[str], *, is_one: bool) -> str:
    """Say what the forecasts of some machines rest on that rest on the same."""
    named = list(dict.fromkeys(x for each in members for x in each.donors))
    outside = [x for x in named if x not in ranked]
    whose = "each machine" if is_one else listed([x.machine for x in members])
    its = "its" if is_one or len(members) == 1 else "their"
    rests = [f"{its} runs"]
    if len(outside) < len(named):
        rests.append("those on the others")
    if outside:
        rests.append(f"those on the donor{'s' if len(outside) > 1 else ''} {listed(outside)}")
    if len(rests) == 1:
        return f"of {whose} from {rests[0]} alone"
    return f"of {whose} from {', '.join(rests[:-1])} and {rests[-1]}"
