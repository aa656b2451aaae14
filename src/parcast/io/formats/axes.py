"""What the axes of imported runs are called: renamed, added where untold, and which one is p."""

import re
from collections.abc import Mapping, Sequence

from parcast.columns import LABELS, axis_name_fault, did_you_mean, to_names, to_numbers
from parcast.errors import ParameterError
from parcast.io.faults import Faults
from parcast.units import shown

WORDS_FOR_P = re.compile(
    r"np|n_?procs|procs|num_?procs|processes|processors|n?ranks|mpi_?ranks|cores|n?tasks|n?threads",
    re.IGNORECASE,
)
Constants = Mapping[str, float | str]


def named_axes(
    names: Sequence[str],
    faults: Faults,
    *,
    labels: Sequence[str] = (),
    rename: Mapping[str, str],
    constants: Constants,
) -> tuple[list[str], list[str]]:
    """Names that the axes of imported runs get, one of them `p`.

    Parameters
    ----------
    names : sequence of str
        What the file calls them.
    faults : Faults
        Where to note what is wrong with the file.
    labels : sequence of str, optional
        Of `callpath` and `machine`, those that the file tells.
    rename : mapping of str to str
        New names of some of them.
    constants : mapping
        Axes, and labels, that the file does not tell, and their values.

    Returns
    -------
    names : list of str
        One for each of `names`; `p` among these or the constants.
    notes : list of str
        What was taken for `p`.

    Raises
    ------
    ParameterError
        If what is to be renamed is not there, or a constant is told by the file.
    FileProblems
        If no axis can be taken for `p`, or one has a name that no axis may have.
    """
    for name in rename:
        if name not in names:
            raise ParameterError(
                f"rename must name a parameter of the files, got {shown(repr(name))}."
                f"{did_you_mean(name, names)} There are {_listed(names)}."
            )
    renamed = [rename.get(name, name) for name in names]
    notes: list[str] = []
    if "p" not in renamed and "p" not in constants:
        likely = [name for name in renamed if WORDS_FOR_P.fullmatch(name)]
        if len(likely) != 1:
            _refuse_without_p(renamed, likely, faults)
        renamed[renamed.index(likely[0])] = "p"
        notes.append(f"{shown(likely[0])} is taken for p, the processors.")
    for name in constants:
        if name in renamed or name in labels:
            raise ParameterError(
                f"constants must be axes that the files do not tell, got {shown(name)}. "
                "Leave it out, or rename the parameter of the files."
            )
    for old, name in zip(names, renamed, strict=True):
        if renamed.count(name) > 1:
            raise ParameterError(
                f"rename must give each parameter a name of its own, got {shown(name)} twice. "
                "Rename the other as well."
            )
        if name != "p" and (fault := axis_name_fault(name)):
            remedy = f"Rename it: --rename {shown(old)}=NAME"
            faults.refuse(f"the parameter {shown(repr(name))} {fault} {remedy}")
    return renamed, notes


def checked_constants(constants: Constants) -> dict[str, float | str]:
    """Values of the axes and labels that are given for all runs: text for labels alone.

    Raises
    ------
    ParameterError
        If an axis is no number of its domain, or a label is not one line of text.
    """
    checked: dict[str, float | str] = {}
    if not isinstance(constants, Mapping):
        raise ParameterError(
            f'constants must be a mapping, got {constants!r:.60}. Give such as {{"p": 64}}.'
        )
    for name, value in constants.items():
        if name in LABELS:
            checked[name] = str(to_names(name, str(value)))
            continue
        try:
            number = float(value)
        except ValueError:
            raise ParameterError(
                f"constants must be numbers, got {shown(name)}={shown(repr(value))}. "
                "Only machine and callpath are text."
            ) from None
        checked[name] = float(to_numbers(name, number))
        if name != "p" and (fault := axis_name_fault(name)):
            raise ParameterError(f"constants must name axes: {shown(name)} {fault}")
    return checked


def _refuse_without_p(names: Sequence[str], likely: Sequence[str], faults: Faults) -> None:
    """Refuse runs of which nothing tells the processors."""
    if likely:
        faults.refuse(
            f"must tell the processors once, got {_listed(likely)}. "
            f"Say which it is: --rename {shown(likely[0])}=p"
        )
    got = f"only {_listed(names)}" if names else "no parameter"
    rename = f", or rename a parameter: --rename {shown(names[0])}=p" if names else ""
    faults.refuse(f"must tell the processors, got {got}. Give them: --set p=64{rename}")


def _listed(names: Sequence[str], most: int = 8) -> str:
    """Write names one after another, the first of them where there are many."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(shown(name) for name in names[:most]) or "none") + more
