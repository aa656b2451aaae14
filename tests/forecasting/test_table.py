"""`parcast.forecasting.sheet`: units that can be read, and layouts for every width."""

import pytest


@pytest.mark.parametrize(
    ("second", "unit"),
    [(1e-6, "us"), (1e-3, "ms"), (1.0, "s"), (300.0, "min"), (4000.0, "h"), (1e6, "d")],
)
def test_times_are_shown_in_the_unit_that_suits_them(parcast, second, unit):
    table = "p,time_s\n" + "".join(f"{p},{second * (3 + 6 / p)}\n" for p in (1, 2, 4))
    said = parcast("forecast", "-", "-p", "8", stdin=table)
    assert said.out.splitlines()[1].split()[:2] == [f"[{unit}]", f"[{unit}]"]


def test_long_names_become_titles_where_they_do_not_fit(parcast, monkeypatch):
    name = "main->" + "->".join(f"step_{i}" for i in range(10))
    table = "callpath,p,time_s\n" + "".join(f"{name},{p},{8 / p}\n" for p in (1, 2, 4))
    monkeypatch.setenv("COLUMNS", "80")
    lines = parcast("forecast", "-", "-p", "8,16", stdin=table).out.splitlines()
    assert lines[2:5] == ["", "callpath", name]
    assert [line.split()[0] for line in lines[5:7]] == ["8", "16"]


def test_times_out_of_all_proportion_keep_the_table_narrow(parcast):
    said = parcast("forecast", "-", "-p", "1000000000", stdin="p,time_s\n1,1\n2,1e30\n")
    assert said.status == 0
    begin = said.out.splitlines().index(next(x for x in said.out.splitlines() if "[d]" in x))
    assert max(map(len, said.out.splitlines()[begin - 1 : begin + 2])) < 90


def test_it_is_said_what_speedup_is_over_unless_it_is_one_processor(parcast):
    late = "p,time_s\n8,4\n16,2.2\n"
    legend = "speedup and efficiency: relative to p = 8, the smallest measured p"
    assert legend in parcast("forecast", "-", "-p", "32", stdin=late).out
    mixed = "machine,p,time_s\nA,8,4\nA,16,2.2\nB,1,4\nB,2,3\n"
    told = parcast("forecast", "-", "-p", "32", stdin=mixed).out
    assert "speedup and efficiency: relative to the smallest measured p" in told
    told = parcast("forecast", "-", "-p", "8", stdin="p,time_s\n1,4\n2,2.2\n").out
    assert "smallest measured p" not in told
