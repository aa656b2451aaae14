"""Tables of runs on other machines: checked, put together, and divided among the machines."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.errors import Argument, ParameterError, Text
from parcast.importers.registry import as_measurements
from parcast.timings.measurements import Measurements, MeasurementsLike, measurements_of
from parcast.timings.series import number_groups
from parcast.words import listed


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
    if any(table.deviation is not None for table in tables):
        tables = [x.with_columns(deviation=np.nan) if x.deviation is None else x for x in tables]
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
    ours, theirs = (
        replace(x.measure, title="", work=x.measure.work or 1.0) for x in (runs, others)
    )
    if ours != theirs:
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
