"""Tables of runs on other machines: checked, put together, and divided among the machines."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from parcast.errors import ParameterError
from parcast.measurements import Measurements


def table_of_donors(donors: Measurements | Sequence[Any] | Any) -> Measurements:
    """One table of the runs on other machines that were given.

    Parameters
    ----------
    donors : Measurements, a table that `Measurements.from_table` accepts, or a list of such
        With a column `machine`. Those of a list are joined.

    Raises
    ------
    ParameterError
        If the list is empty, one of them is no table, their columns differ, or they do not name
        their machines.

    Examples
    --------
    >>> t3e = Measurements(p=[1, 2], time=[8.0, 4.5], machine="T3E")
    >>> table_of_donors([t3e, {"p": [1, 2], "time_ms": [9000, 5000], "machine": "SP"}])
    Measurements(4 rows: p 1 to 2, machine 2 names, time 4.5 to 9 s)
    """
    table = _joined_list(donors) if isinstance(donors, list | tuple) else _table(donors)
    if "machine" not in table.labels:
        raise ParameterError(
            "donors must have a column machine, got none. Name the machine of every run in it."
        )
    return table


def joined(tables: Sequence[Measurements], names: Sequence[str]) -> Measurements:
    """One table of the rows of all; repetitions are told by equal rows, not by their numbers.

    Parameters
    ----------
    tables : sequence of Measurements
        At least one.
    names : sequence of str
        What messages call them.

    Raises
    ------
    ParameterError
        If their columns differ.

    Examples
    --------
    >>> joined([Measurements(p=1, time=8.0), Measurements(p=2, time=4.5)], ["a.csv", "b.csv"])
    Measurements(2 rows: p 1 to 2, time 4.5 to 8 s)
    """
    if len(tables) == 1:
        return tables[0]
    columns = [
        {name: column for name, column in table.columns.items() if name != "repetition"}
        for table in tables
    ]
    every = dict.fromkeys(name for table in columns for name in table)
    for name, table in zip(names, columns, strict=True):
        if missing := [x for x in every if x not in table]:
            raise ParameterError(
                "donors must have the same columns as all other tables, got no "
                f"{', '.join(missing)} in {name}. {_remedy(missing)}"
            )
    return Measurements(**{x: np.concatenate([table[x] for table in columns]) for x in every})


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

    Parameters
    ----------
    machine : str
        Which one.
    runs : Measurements
        Runs on it and on others, with a column `machine`.
    donors : Measurements or None
        Runs on further machines. Of a machine that both tables name, only `runs` count; what
        `donors` hold of `machine` itself is kept, so that the forecast can tell that it is no
        donor of itself.

    Returns
    -------
    Measurements or None
        None where there is no other machine.

    Raises
    ------
    ParameterError
        If the two tables have other columns.
    """
    tables = {"the runs": without(runs, [machine])}
    if donors is not None:
        tables["donors"] = without(donors, [x for x in machines_in(runs) if x != machine])
    found = {name: table for name, table in tables.items() if table is not None}
    return joined(list(found.values()), list(found)) if found else None


def _joined_list(given: Sequence[Any]) -> Measurements:
    """Join the tables of a list."""
    if not given:
        raise ParameterError("donors must hold a table, got an empty list. Leave it out.")
    names = [f"donors[{i}]" for i in range(len(given))]
    tables = []
    for name, table in zip(names, given, strict=True):
        try:
            tables.append(_table(table))
        except ParameterError as error:
            raise ParameterError(f"{name}: {error}") from None
    return joined(tables, names)


def _table(given: Measurements | Any) -> Measurements:
    """Take measurements as they are, and any other table by its columns."""
    return given if isinstance(given, Measurements) else Measurements.from_table(given)


def _remedy(missing: list[str]) -> str:
    """Say what to do about columns that are not in every table."""
    if "machine" in missing:
        return "Name the machine of every run in it."
    them = "it" if len(missing) == 1 else "them"
    return (
        f"Add {them}, or pass over {them} in the others: "
        f"parcast.read_measurements(path, ignore={missing})."
    )
