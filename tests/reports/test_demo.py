"""`parcast demo`: a forecast beside times that were held out."""

from parcast.reports.demo import place_of_data


def test_a_forecast_is_shown_beside_the_actual_times(parcast, tmp_path):
    page = tmp_path / "demo.html"
    said = parcast("demo", "-o", page)
    assert said.status == 0, said.err
    assert "measured  error" in said.out
    assert said.out.rstrip().endswith("write a page to hand on")
    assert "<figure>" in page.read_text(encoding="utf-8")


def test_its_runs_are_found_in_a_clone():
    assert place_of_data().name == "times.csv"
