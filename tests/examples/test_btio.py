"""`examples/btio`: a prediction from two descriptions, with every picture there is."""

from pathlib import Path

import pytest

import parcast

EXAMPLE = Path(__file__).parents[2] / "examples" / "btio"


@pytest.fixture(scope="module")
def told():
    program = parcast.read_program(EXAMPLE / "program.toml")
    machine = parcast.read_machine(EXAMPLE / "sp2.toml")
    return parcast.predict(program, machine, p=[1, 16, 64, 256], d=[1, 4, 16])


def test_the_table_has_what_is_predicted(printed, told):
    table = printed.partition("\n\n")[2].partition("\n\n")[0].splitlines()[1:]
    for line, row in zip(table, told.rows(), strict=True):
        p, d, _, _, speedup, efficiency, limited_by = line.split()
        assert (int(p), int(d)) == (row["p"], row["d"])
        assert float(speedup) == pytest.approx(row["speedup"], abs=0.005)
        assert efficiency == f"{row['efficiency']:.0%}"
        assert limited_by == row["limited_by"]


def test_what_limits_it_and_what_to_doubt_is_printed(printed):
    for said in ("- d = 1: ", "- d = 16: ", "- IBM SP-2 has 160 processors"):
        assert said in printed


def test_the_pictures_are_where_it_says_they_are(printed, folder):
    for picture in ("lines", "surface", "contours", "map"):
        path = folder / f"btio-{picture}.png"
        assert f"  {path}\n" in printed
        assert path.stat().st_size > 10_000
