"""`examples/laws`: every program has times, and measured runs give capacities that forecast."""

from pathlib import Path

import numpy as np
import pytest

from parcast.descriptions.program import Program, law_named
from parcast.descriptions.toml_files import read_machine, read_program
from parcast.fitting.capacities import capacities
from parcast.fitting.fit import fit
from parcast.prediction.predict import predict
from parcast.timings.tables.files import read_measurements

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "laws"
LAWS = [
    "merge_sort",
    "sort",
    "square_sort",
    "sample_sort",
    "fractal",
    "monte_carlo",
    "matmul",
    "gauss",
]
PAGE = (ROOT / "docs" / "reference" / "steady-state.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("law", LAWS)
def test_every_program_has_times(law):
    program = read_program(EXAMPLES / f"{law}.toml")
    assert program.phase[0].law == law
    told = predict(program, read_machine(EXAMPLES / "machine.toml"), p=[1, 4, 16], n=[1000, 1e6])
    assert np.all((told.time > 0) & np.isfinite(told.time))


@pytest.mark.parametrize("law", LAWS)
def test_the_reference_has_every_key_of_a_law(law):
    section = PAGE.split(f"\n## {law}\n")[1].split("\n## ")[0]
    shared = PAGE.split("\n## What every law has\n")[1].split("\n## ")[0]
    keys = set(law_named(law).model_fields) - {"law", "name", "cycles", "capacities"}
    keys |= {f"capacities.{key}" for key in read_capacities(law)}
    rows = PAGE.split("\n## What each law has\n")[1].split("\n## ")[0].splitlines()
    section += "\n".join(row for row in rows if f"`{law}`" in row.partition(" | ")[0])
    if law == "square_sort":  # which has those of the other
        section += PAGE.split("\n## sort\n")[1].split("\n## ")[0]
    for key in keys:
        assert f"`{key}" in section + shared


def read_capacities(law):
    return law_named(law).model_fields["capacities"].annotation.model_fields


def runs_on(network):
    return read_measurements(EXAMPLES / f"times_on_{network}.csv")


def test_two_processors_on_a_bus_forecast_four():
    product = read_program(EXAMPLES / "product.toml")
    runs = runs_on("bus")
    found = capacities(product.phase[0], runs.select(p=[1, 2]))
    told = predict(
        Program(phase=[found.phase]), read_machine(EXAMPLES / "machine.toml"), p=[4], n=720
    )
    measured = np.median(runs.select(p=4).time)
    assert told.time[0, 0] == pytest.approx(measured, rel=0.05)
    assert told.lower[0, 0] <= measured <= told.upper[0, 0]


def test_the_rate_of_the_bus_is_that_of_its_link():
    told = fit(read_program(EXAMPLES / "product.toml"), runs_on("bus"))
    assert told["capacities.network"].value == pytest.approx(12.5e6, rel=0.05)
    assert told.is_settled


def test_a_switch_carries_more_with_more_processors():
    found = capacities(read_program(EXAMPLES / "product.toml").phase[0], runs_on("switch"))
    two, four = found.network_by_p
    assert four.value > 1.5 * two.value
    assert any(text.startswith("u_4 is above u_2") for text in found.warnings)
