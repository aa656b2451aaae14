"""`parcast.show.sheet`: what a sheet knows of itself."""

from parcast.show.sheet import Column


def test_a_column_has_a_title_in_full():
    assert Column(title="time", unit="[s]", cells=[]).full_title == "time [s]"
    assert Column(title="p", cells=[]).full_title == "p"
    assert Column(title="eff.", cells=[], heading="efficiency").full_title == "efficiency"
