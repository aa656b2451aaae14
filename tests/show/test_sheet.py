"""`parcast.show.sheet`: what a sheet knows of itself."""

from parcast.show.sheet import Column, Sheet


def test_a_caution_is_given_once_with_all_that_it_holds_for():
    parts = (
        Sheet(title="T3E", warnings=("Few runs.", "Few runs.", "Noise.")),
        Sheet(title="SP", warnings=("Few runs.",)),
    )
    sheet = Sheet(parts=parts, warnings=("Old.",))
    assert sheet.cautions() == {"Old.": (), "Few runs.": ("T3E", "SP"), "Noise.": ("T3E",)}


def test_a_column_has_a_title_in_full():
    assert Column(title="time", unit="[s]", cells=[]).full_title == "time [s]"
    assert Column(title="p", cells=[]).full_title == "p"
    assert Column(title="eff.", cells=[], heading="efficiency").full_title == "efficiency"
