"""Which runs on other machines are donors of which series, and how much each may weigh.

A donor serves a series with the same callpath and the same other axes; a machine is no donor of
itself. It weighs less in a forecast the more its machine differs from the target [D]_::

    likeness = 1 / (1 + (distance / ln 4)^2)

distance being the root of the mean squared logarithm of the ratios of the figures that both
descriptions give, such as the rates of a processor, of the network and of the disks. Machines a
factor of four apart in all weigh half. A machine of which nothing is known weighs as one that far
away.

References
----------
.. [D] parcast's own default: no measured set at hand came with descriptions to test it on.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np
from numpy.typing import NDArray

from parcast.advice import Choice
from parcast.cli.screen import tell
from parcast.errors import Argument, ParameterError, Text, require_at_most
from parcast.forecasting.donors.curve import Elsewhere, LeftOut
from parcast.forecasting.own_runs.scaling import size_of_runs
from parcast.importers.registry import as_measurements
from parcast.timings.columns import MAY_BE_UNKNOWN
from parcast.timings.measurements import Measurements, MeasurementsLike, measurements_of
from parcast.timings.series import Series, label_of, number_groups
from parcast.words import did_you_mean, listed

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine
    from parcast.timings.measurements import Measurements
    from parcast.timings.tables.options import TableOptions

MOST_NAMED: Final = 12  # machines in one message
MOST_DONORS: Final = 1_000  # of one series
MOST_PAIRS: Final = 5_000_000  # of a series and a donor of it
APART = float(np.log(4.0))  # distance at which a donor weighs half [D]
UNKNOWN = 0.5


def table_of_donors(
    donors: MeasurementsLike | Sequence[MeasurementsLike],
) -> tuple[Measurements, tuple[str, ...]]:
    """One table of runs on other machines, by a column `machine`, and which of them count once."""
    table, remarks = (
        _joined_list(donors) if isinstance(donors, list | tuple) else (as_measurements(donors), ())
    )
    if "machine" not in table.labels:
        raise ParameterError(
            "donors",
            must="have a column machine",
            got="none",
            hint="Name the machine of every run in it.",
        )
    return table, remarks


def joined(
    tables: Sequence[Measurements], names: Sequence[str]
) -> tuple[Measurements, tuple[str, ...]]:
    """One table of the rows of all, which messages call by `names`, and which runs count once.

    Where every run on a machine of one table stands in others too, to the last digit, it is taken
    for a copy: as repetitions without any spread copies would make a forecast too sure.

    >>> tables = [Measurements(p=[1, x], time=[8, 9 / x], machine="SP") for x in (2, 4, 2)]
    >>> joined(tables, ["a.csv", "b.csv", "c.csv"])[1]
    ('c.csv: all its runs are in a.csv as well. They are used once.',)
    """
    if len(tables) == 1:
        return tables[0], ()
    for name, runs in zip(names, tables, strict=True):
        require_same_measure(tables[0], runs, name)
    for column in MAY_BE_UNKNOWN:
        if any(column in table.columns for table in tables):
            tables = [
                x if column in x.columns else x.with_columns(**{column: np.nan}) for x in tables
            ]
    columns = [
        {name: column for name, column in table.columns.items() if name != "repetition"}
        for table in tables
    ]
    every = dict.fromkeys(name for table in columns for name in table)
    for name, table in zip(names, columns, strict=True):
        if missing := [x for x in every if x not in table]:
            raise ParameterError(
                "donors",
                must="have the same columns as all other tables",
                got=(f"no {', '.join(missing)} in ", Argument(f"table {name}", python=name)),
                hint=_remedy(missing),
            )
    stacked = {x: np.concatenate([table[x] for table in columns]) for x in every}
    table_of_row = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    kept, remarks = _without_copies(stacked, table_of_row, names)
    kept_columns = {x: column[kept] for x, column in stacked.items()}
    return measurements_of(kept_columns, tables[0].measure), remarks


def require_same_measure(runs: Measurements, others: Measurements, name: str) -> None:
    """Refuse to compare times with rates, or rates of different work."""
    if not runs.measure.is_like(others.measure):
        raise ParameterError(
            "donors",
            must="have the same measure as the runs",
            got=f"{others.measure.of_time} in {name} beside {runs.measure.of_time}",
            hint="Give times for both, or rates of the same work.",
        )


def machines_in(runs: Measurements) -> list[str]:
    """Machines of the runs, in their order; they have a column `machine`."""
    return list(dict.fromkeys(runs.labels["machine"].tolist()))


def without(runs: Measurements, machines: Sequence[str]) -> Measurements | None:
    """Runs on all other machines; None where there is none."""
    others = [x for x in machines_in(runs) if x not in machines]
    return runs.select(machine=others) if others else None


def donors_of(
    machine: str, runs: Measurements, donors: Measurements | None
) -> Measurements | None:
    """Runs that may help to forecast one of several machines: those on the others, and donors.

    Of a machine that both tables name, only `runs` count.
    """
    tables = {"the runs": without(runs, [machine])}
    if donors is not None:
        tables["donors"] = without(donors, [x for x in machines_in(runs) if x != machine])
    others = {name: table for name, table in tables.items() if table is not None}
    return joined(list(others.values()), list(others))[0] if others else None  # none is in both


def _joined_list(given: Sequence[Any]) -> tuple[Measurements, tuple[str, ...]]:
    """Join the tables of a list."""
    if not given:
        raise ParameterError(
            "donors", must="hold a table", got="an empty list", hint="Leave it out."
        )
    names = [f"donors[{i}]" for i in range(len(given))]
    tables = []
    for name, table in zip(names, given, strict=True):
        try:
            tables.append(as_measurements(table))
        except ParameterError as error:
            raise error.named(f"{name}: {error.name}") from None
    return joined(tables, names)


def _without_copies(
    columns: Mapping[str, NDArray[Any]], table_of_row: NDArray[np.intp], names: Sequence[str]
) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Mark the rows to keep, and tell which runs on which machines were copies."""
    kept = np.ones(len(table_of_row), dtype=bool)
    if "machine" not in columns:
        return kept, ()
    machines = [
        dict.fromkeys(columns["machine"][table_of_row == i].tolist()) for i in range(len(names))
    ]
    several = {
        machine: tables
        for machine in dict.fromkeys(x for present in machines for x in present)
        if len(tables := [i for i, present in enumerate(machines) if machine in present]) > 1
    }
    if not several:
        return kept, ()
    run = number_groups(list(columns.values()), len(kept))[0]
    copied: dict[int, dict[str, list[int]]] = defaultdict(dict)  # by table and machine: where else
    for machine, tables in several.items():
        is_there = columns["machine"] == machine
        rows = {i: run[is_there & (table_of_row == i)] for i in tables}
        runs = {i: np.unique(x) for i, x in rows.items()}
        known: list[int] = []  # tables that are kept
        fullest_first = sorted(tables, key=lambda i: (-len(runs[i]), -len(rows[i])))
        for i in fullest_first:
            present = {j: np.isin(runs[i], runs[j]) for j in known}
            if present and np.logical_or.reduce(list(present.values())).all():
                whole = [j for j, is_found in present.items() if is_found.all()]
                copied[i][machine] = whole[:1] or [j for j in known if present[j].any()]
                kept &= ~(is_there & (table_of_row == i))
            else:
                known.append(i)
    remarks = []
    for i, elsewhere in sorted(copied.items()):
        is_all = len(elsewhere) == len(machines[i])
        which = "all its runs" if is_all else f"its runs on {listed(list(elsewhere))}"
        others = dict.fromkeys(j for tables in elsewhere.values() for j in tables)
        named = listed([names[j] for j in others])
        remarks.append(f"{names[i]}: {which} are in {named} as well. They are used once.")
    return kept, tuple(remarks)


def _remedy(missing: list[str]) -> Text:
    """Say what to do about columns that are not in every table."""
    if "machine" in missing:
        return "Name the machine of every run in it."
    them = "it" if len(missing) == 1 else "them"
    call = f"parcast.read_measurements(path, ignore={missing})"
    return (
        f"Add {them}, or ignore {them} in the others: ",
        Argument("ignore", missing, python=call),
        ".",
    )


def read_with_donors(
    files: Sequence[str],
    *,
    select: Sequence[tuple[str, str]],
    table: "TableOptions",
    donors: Sequence[str],
    targets: Sequence[str],
    argument: str = "FILE",
) -> tuple["Measurements", "Measurements | None", dict[str, Any], list[dict[str, Any]]]:
    """Runs of `files` that are asked about, those on other machines, and where both come from.

    `targets` are machines of the files that are asked about; the others in them are donors.
    Columns to ignore or with another name need not be in every file, but in one.
    """
    from parcast.cli.reading import options_in, read_files

    here = options_in(files[0], table, among=[*files[1:], *donors])
    runs, source = read_files(files, select, here, argument=argument)
    others: list[Measurements] = []
    if targets:
        runs, others = parts_of_targets(runs, targets, source["file"])
    tables, sources = read_donors(donors, table, beside=files)
    named = [*((source["file"], runs) for runs in others), *tables]
    if not named:
        return runs, None, source, sources
    donated, remarks = joined([runs for _, runs in named], [name for name, _ in named])
    for remark in remarks:
        tell(remark)
    return runs, donated, source, sources


def parts_of_targets(
    runs: "Measurements", targets: Sequence[str], file: str
) -> tuple["Measurements", list["Measurements"]]:
    """Divide the runs of a file into those on some machines and those on all others."""
    if "machine" not in runs.labels:
        column = Argument("columns", {"machine": Choice("NAME")})
        raise click.UsageError(
            f"{Argument('target')} must be a machine of {file}, which has no column machine. "
            f"Leave it out, or name the column: {column}."
        )
    known = sorted(set(runs.labels["machine"].tolist()))
    for target in targets:
        if target not in known:
            raise click.UsageError(
                f"{Argument('target')} must be a machine of {file}, got {target!r:.60}."
                f"{did_you_mean(target, known)} Machines: {listed(known, MOST_NAMED)}."
            )
    here, others = runs.select(machine=list(targets)), without(runs, targets)
    return here, [] if others is None else [others]


def read_donors(
    files: Sequence[str], table: "TableOptions", *, beside: Sequence[str]
) -> tuple[list[tuple[str, "Measurements"]], list[dict[str, Any]]]:
    """Measurements of each file of donors by its name, and what they come from.

    A file with the same bytes as one before it is reported and left out of the measurements.
    """
    from parcast.cli.outputs import tell_copy
    from parcast.cli.reading import options_in, read_file

    tables: list[tuple[str, Measurements]] = []
    inputs: list[dict[str, Any]] = []
    for file in files:
        if file == "-":
            raise click.UsageError(f"{Argument('donors')} must be a file, got -. Write its name.")
        others = [*beside, *(other for other in files if other != file)]
        runs, source = read_file(file, (), options_in(file, table, among=others))
        inputs.append(source)
        same = next((x["file"] for x in inputs[:-1] if x["sha256"] == source["sha256"]), None)
        if same is not None and source["sha256"] is not None:
            tell_copy(file, same)
            continue
        if "format" in source and "machine" not in runs.labels:
            runs = _of_machine(runs, file)
        tables.append((source["file"], runs))
    return tables, inputs


def _of_machine(runs: "Measurements", file: str) -> "Measurements":
    """Call the machine of an import by its file: few other tools tell where a program ran."""
    from pathlib import Path

    name = Path(file).stem.strip() or file
    tell(f"{file} names no machine; it is called {name!r:.60}.")
    return runs.with_columns(machine=name)


def gather(
    donors: Measurements,
    measurements: Measurements,
    series: Series,
    machines: Sequence["Machine"] = (),
) -> Elsewhere:
    """Find the donors of every series; described `machines` like the target weigh more."""
    _check_callpaths(donors, measurements)
    grouped = donors.series()
    matched = _matched(donors, measurements, series, grouped.by)
    apart = list(dict.fromkeys(["machine", *grouped.by, *matched]))
    if set(apart) != set(grouped.by):
        grouped = donors.series(apart)
    useful = grouped.count >= 2
    serving, single = _by_kind(grouped, useful, matched)
    _check_number(max(map(len, serving.values()), default=0), len(series))
    names = [_name(key, matched) for key in grouped.keys]
    number = np.cumsum(useful) - 1

    constant = {name: measurements.columns[name][0] for name in matched}
    own = measurements.labels.get("machine")
    ours = _machines_of(measurements)
    figures = figures_of(machines, [*_machines_of(donors), *ours], is_target_named=bool(ours))
    here_unnamed = figures.pop("", None)
    likenesses: list[list[float]] = []
    of: list[list[int]] = []
    left_out: list[LeftOut] = []
    for key in series.keys:
        kind = tuple(key.get(name, constant[name]) for name in matched)
        machine = key.get("machine", None if own is None else own[0])
        here = [i for i in serving[kind] if grouped.keys[i]["machine"] != machine]
        once = [names[i] for i in single[kind] if grouped.keys[i]["machine"] != machine]
        is_both = len(here) + len(once) < len(serving[kind]) + len(single[kind])
        of.append(number[here].tolist())
        target = here_unnamed if machine is None else figures.get(str(machine))
        others = [figures.get(str(grouped.keys[i]["machine"]), {}) for i in here]
        likenesses.append([1.0 if target is None else likeness(target, x) for x in others])
        left_out.append(
            LeftOut(
                both=machine if is_both else None,
                once=tuple(once),
                kind=label_of(dict(zip(matched, kind, strict=True))),
                is_alone=not here,
            )
        )
    width = max(1, *map(len, of))
    return Elsewhere(
        runs=grouped.take(useful),
        names=tuple(name for name, is_useful in zip(names, useful, strict=True) if is_useful),
        of=np.array([row + [-1] * (width - len(row)) for row in of], dtype=np.intp),
        likeness=np.array([row + [0.0] * (width - len(row)) for row in likenesses]),
        is_described=any(max(row, default=0.0) > min(row, default=0.0) for row in likenesses),
        left_out=tuple(left_out),
        grows=size_of_runs(donors, grouped.by) == "grows",
    )


def likeness(here: Mapping[str, float], there: Mapping[str, float]) -> float:
    """Weight of a donor by the figures of both machines, above 0 and in the same units. [1]."""
    shared = [name for name in here if name in there]
    if not shared:
        return UNKNOWN
    ratios = np.log([here[name] / there[name] for name in shared])
    return float(1.0 / (1.0 + np.mean(ratios**2) / APART**2))


def figures_of(
    machines: Sequence["Machine"], named: Sequence[str], *, is_target_named: bool
) -> dict[str, dict[str, float]]:
    """Figures of described machines that do not depend on anything, by the name of the machine.

    One description of no machine `named` by the runs is that of the target, if it has no name: "".
    """
    described: dict[str, dict[str, float]] = {}
    strangers = []
    for machine in machines:
        figures = {
            name: float(amount({}))
            for name, amount in machine.parameters().items()
            if not amount.expression.axes and float(amount({})) > 0
        }
        name = machine.name
        if name in described:
            raise ParameterError(
                "machines", must="be described once each", got=f"{name!r:.60} twice"
            )
        if name not in named:
            strangers.append(name)
        described[name] = figures
    if len(strangers) > (0 if is_target_named else 1):
        raise ParameterError(
            "machines",
            must="be those of the runs",
            got=listed(strangers),
            hint=f"The runs name {listed(list(dict.fromkeys(named)))}: use these names.",
        )
    if strangers:
        described[""] = described.pop(strangers[0])
    return described


def _machines_of(measurements: Measurements) -> list[str]:
    """Machines that some runs name."""
    return list(dict.fromkeys(measurements.labels.get("machine", np.array([])).tolist()))


def _check_callpaths(donors: Measurements, measurements: Measurements) -> None:
    """Refuse donors of several callpaths where the measurements name none, and the reverse."""
    theirs, ours = donors.labels.get("callpath"), measurements.labels.get("callpath")
    if ours is None and theirs is not None and len(names := dict.fromkeys(theirs.tolist())) > 1:
        first = next(iter(names))
        raise ParameterError(
            "donors",
            must="have one callpath where the measurements name none",
            got=f"{len(names)}",
            hint=(
                "Select the one that was measured: ",
                Argument("donors.select", first, python=f"donors.select(callpath={first!r})"),
                ".",
            ),
        )
    if theirs is None and ours is not None and len(names := dict.fromkeys(ours.tolist())) > 1:
        raise ParameterError(
            "donors",
            must=f"have a column callpath where the measurements have {len(names)}",
            got="none",
            hint="Name the callpath of every run in it, or select one of the measurements.",
        )


def _check_number(most: int, series: int) -> None:
    """Refuse more donors, at `most` so many for each of the series, than memory is there for."""
    for bound, number, what in (
        (MOST_DONORS, most, "other machines for each series"),
        (MOST_PAIRS, most * series, "pairs of a series and another machine"),
    ):
        hint = "Keep those that are most like the machine in question."
        require_at_most("donors", number, bound, hint=hint, of=f" {what}")


def _matched(
    donors: Measurements, measurements: Measurements, series: Series, apart: Sequence[str]
) -> list[str]:
    """Columns in which a donor must be as the series is: callpath, and axes that stay with p.

    From a single count the donors tell whether an axis does: it does unless it stands in `apart`.
    """
    known = measurements.columns
    single = bool(np.all(series.count == 1))
    shared = ["callpath"] if "callpath" in donors.labels and "callpath" in known else []
    for name, theirs in donors.axes.items():
        if name == "p" or name not in known:
            continue
        goes_along = name not in apart and np.any(theirs != theirs[0])
        stays = np.all(known[name] == known[name][0]) and not (single and goes_along)
        if name in series.by or stays:
            shared.append(name)
    return shared


def _by_kind(
    grouped: Series, useful: NDArray[np.bool_], matched: Sequence[str]
) -> tuple[Mapping[tuple[Any, ...], list[int]], Mapping[tuple[Any, ...], list[int]]]:
    """Sort the donors by the columns matched: those of two counts and more, and the others."""
    serving: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    single: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for i, (key, is_useful) in enumerate(zip(grouped.keys, useful.tolist(), strict=True)):
        (serving if is_useful else single)[tuple(key[name] for name in matched)].append(i)
    return serving, single


def _name(key: Mapping[str, str | float], matched: Sequence[str]) -> str:
    """Name a donor: its machine, with what tells it apart from others on that machine."""
    return label_of({name: value for name, value in key.items() if name not in matched})
