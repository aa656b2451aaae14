"""Tables of runs on other machines: checked, put together, and divided among the machines."""

from collections.abc import Sequence
from typing import Any

from parcast.errors import ParameterError
from parcast.measurements import Measurements


def table_of_donors(donors: Measurements | Any) -> Measurements:
    """Runs on other machines, as Measurements.

    Parameters
    ----------
    donors : Measurements, or a table that `Measurements.from_table` accepts
        With a column `machine`.

    Raises
    ------
    ParameterError
        If they do not name their machines.
    """
    if not isinstance(donors, Measurements):
        donors = Measurements.from_table(donors)
    if "machine" not in donors.labels:
        raise ParameterError(
            "donors must have a column machine, got none. Name the machine of every run in it."
        )
    return donors


def joined(tables: Sequence[Measurements]) -> Measurements:
    """One table of the rows of all; repetitions are told by equal rows, not by their numbers.

    Parameters
    ----------
    tables : sequence of Measurements
        At least one.

    Raises
    ------
    ParameterError
        If their columns differ.
    """
    if len(tables) == 1:
        return tables[0]
    columns = [
        {name: column for name, column in table.columns.items() if name != "repetition"}
        for table in tables
    ]
    for other in columns[1:]:
        if odd := sorted(columns[0].keys() ^ other.keys()):
            raise ParameterError(
                f"donors must have the same columns as all other tables, got {', '.join(odd)} in "
                "some of them only. Add what is missing, or leave it out of all."
            )
    return Measurements(
        **{name: [x for table in columns for x in table[name].tolist()] for name in columns[0]}
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
    tables = [without(runs, [machine])]
    if donors is not None:
        tables.append(without(donors, [x for x in machines_in(runs) if x != machine]))
    found = [table for table in tables if table is not None]
    return joined(found) if found else None
