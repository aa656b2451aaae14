"""`validate_array_io` with a machine of known truth: the flow, predictions, errors, verdict."""

import json
import time
from dataclasses import replace
from math import inf
from types import SimpleNamespace

import pytest
from matplotlib.lines import Line2D

from parcast.arrays.calibration.fitting import placement_of
from parcast.arrays.subject import MeasuredRequest, predicted, validate_array_io
from parcast.arrays.trials.launcher import Components, observed_components
from parcast.arrays.trials.request import Layout, RequestCase
from parcast.errors import ParameterError, RunFailed
from parcast.show.terminal import Page, lay_out
from parcast.testbed.testbed import Testbed
from parcast.validation.picture import DISTURBED, figure_of_validation
from parcast.words import signed_percent
from tests.arrays.trials.made import (
    COSTS,
    KnownCosts,
    Machine,
    case_of,
    noisy,
    request,
    rounds_of,
    run_of,
    several,
)


@pytest.fixture
def validated(tmp_path):
    """Validate with a machine, by default on several requests."""

    def validate(machine=None, **options):
        known = {"requests": several(), "costs": KnownCosts(), "folder": tmp_path}
        known["launcher"] = Machine() if machine is None else machine
        return validate_array_io(**(known | options))

    return validate


def test_a_machine_that_follows_the_law_is_predicted(validated):
    result = validated(Machine(factor=noisy()))
    assert result.holds is True
    accuracy = result.accuracy()
    assert (accuracy.points, accuracy.within(0.2)) == (5, 5)
    assert accuracy.worst <= 0.02
    for row in result.compared:
        assert len(row.runs) == 5
        assert sum(row.observed.values()) == pytest.approx(row.measured)
        errors = sum(row.part_error(x) for x in ("startup", "assembly", "file_system", "closing"))
        assert errors == pytest.approx(row.error(), abs=0.01)


def test_a_machine_that_does_not_is_refused(validated):
    slow_reads = Machine(factor=lambda place, _: 1.5 if place == 3 else 1.0)
    result = validated(slow_reads)
    assert result.holds is False
    assert result.accuracy(kind="read").within(0.2) == 0
    assert result.accuracy(kind="double-buffer").within(0.2) == 2
    assert result.compared[3].error() == pytest.approx(1 / 1.5 - 1)
    assert "Requests" not in str(result)
    assert "4 read 1.02 kB 1 2x2 2 -33%" in " ".join(str(result).split())


def test_the_limit_of_an_error_is_20_percent_of_the_measured_time(validated):
    for factor, within in ((1 / 1.19, True), (1 / 1.21, False), (1 / 0.81, True), (1.27, False)):
        result = validated(
            Machine(factor=lambda *_, factor=factor: factor), requests=[request()], repetitions=1
        )
        assert next(result.rows())["within"] is within
        assert result.holds is within


def test_other_counts_than_those_of_the_law_are_told(validated):
    result = validated(Machine(messages=1))
    assert result.holds is False
    assert "its counts are not those of the library" in str(result)
    told = " ".join(str(result).split())
    assert "the law counts" in told
    assert "Report this." in told


def test_a_machine_that_changes_is_predicted_anew_in_each_pass(validated, tmp_path):
    place = tmp_path / "predictions.json"
    slower = [1.0, 1.5, 1.5, 1.0, 1.5, 1.0, 1.5, 1.0]  # in the first pass, and so on
    costs = KnownCosts(lambda number: slower[number - 1])
    machine = Machine(factor=lambda *_: slower[len(costs.rounds) - 1])
    result = validated(machine, requests=[request()], costs=costs, save_predictions=place)
    assert costs.rounds == [3, 2] * 4
    [row] = result.parts[0].comparisons
    assert [x.time / row.first.time for x in row.predictions.values()] == pytest.approx(slower)
    assert (len(row.runs), row.is_known, result.holds) == (20, False, True)
    assert row.measured == pytest.approx(1.5 * row.first.time)  # in 11 of 20 runs
    assert row.error() == pytest.approx(0.0)
    saved = json.loads(place.read_text())["predictions"]
    made = [(number, each.time) for number, each in row.predictions.items()]
    assert [x["pass"] for x in saved] == [number for number, _ in made]
    assert [x["time_s"] for x in saved] == pytest.approx([time for _, time in made], rel=1e-12)
    told = result.to_document()["predictions"]
    assert [(x["request"], x["pass"], x["time_s"]) for x in told] == [(1, *x) for x in made]
    rows = [x for x in result.measurement_rows() if x["metric"] in ("time_s", "predicted")]
    assert [x["value"] for x in rows[::2]] == pytest.approx([x["value"] for x in rows[1::2]])
    [facts] = result.rows()
    assert facts["passes"] == 8
    assert facts["predicted_most_s"] == pytest.approx(1.5 * facts["predicted_least_s"])
    told = " ".join(str(result).split())
    assert "8 for each request; predicted times differ between passes by 33% (median), at" in told


@pytest.mark.parametrize(("first", "passes"), [(1.02, 2), (1.1, 3), (1.5, 8)])
def test_passes_end_when_both_times_are_known(validated, first, passes):
    costs = KnownCosts(lambda number: first if number == 1 else 1.0)
    [row] = validated(Machine(), requests=[request()], costs=costs).compared
    assert (len(costs.rounds), len(row.predictions)) == (passes, passes)
    assert row.is_known


def test_only_requests_that_are_not_known_have_further_passes(validated):
    scattering = noisy(width=0.5)
    machine = Machine(factor=lambda place, number: scattering(place, number) if place else 1.0)
    result = validated(machine)
    assert [len(row.predictions) for row in result.compared] == [2, 8, 8, 8, 8]
    assert "2 to 8 for each request; predicted times differ" in " ".join(str(result).split())


@pytest.mark.parametrize(
    ("after", "found"), [(1, (0, 1, "time limit")), (2, (3, 1, "time limit")), (4, (5, 2, ""))]
)
def test_the_time_limit_holds_between_predictions_and_runs(validated, monkeypatch, after, found):
    done, begun = [], time.monotonic()
    hours = SimpleNamespace(monotonic=lambda: begun + 3600 * len(done))
    monkeypatch.setattr("parcast.trials.clock.time", hours)
    costs, machine = KnownCosts(lambda _number: done.append("costs") or 1.0), Machine()

    def launcher(launch, **keys):
        done.append("runs")
        machine(launch, **keys)

    limit = 3600 * (after - 0.5)
    result = validated(launcher, requests=[request()], costs=costs, time_limit=limit)
    [row] = result.parts[0].comparisons
    assert (len(row.runs), len(row.predictions), result.ended_by) == found
    assert (result.holds, row.is_disturbed) == (True if row.runs else None, False)


def test_an_interruption_while_more_runs_are_made_is_told(validated):
    machine = Machine(factor=noisy(width=0.5), fails_after=3)
    result = validated(machine, requests=[request()])
    assert result.ended_by == "interrupted"
    assert len(result.compared[0].runs) == 8
    assert validated(Machine(factor=noisy(width=0.5)), requests=[request()]).ended_by == ""


@pytest.mark.parametrize("repetitions", [1, 2, 4])
def test_few_runs_are_repeated_too_where_they_scatter(validated, repetitions):
    machine = Machine(factor=lambda _place, number: 1.0 + 0.5 * (number % 2))
    [row] = validated(machine, requests=[request()], repetitions=repetitions).compared
    assert len(row.runs) == (1 if repetitions == 1 else 4 * repetitions)
    assert (row.interval is None) is (repetitions == 1)


def test_a_request_whose_runs_scatter_is_run_up_to_four_times_as_often(validated):
    scattering = noisy(width=0.5)
    machine = Machine(factor=lambda place, number: scattering(place, number) if place else 1.0)
    result = validated(machine)
    assert [len(row.runs) for row in result.compared] == [5, 20, 20, 20, 20]
    assert [row.is_known for row in result.compared] == [True, False, False, False, False]
    told = " ".join(str(result).split())
    assert "median of 5 to 20; not known to 10% for 4 requests" in told
    for row in result.rows():
        assert row["measured_lower_s"] <= row["measured_s"] <= row["measured_upper_s"]


def test_a_request_is_run_until_its_median_is_known(validated):
    machine = Machine(factor=lambda _place, number: 1.5 if number == 1 else 1.0)
    result = validated(machine, requests=[request()])
    [row] = result.parts[0].comparisons
    assert [len(rounds_of(x)) - 1 for x in machine.launches] == [3, 2, 3]
    assert (len(row.runs), row.is_known, row.error()) == (8, True, pytest.approx(0.0))


def test_predictions_are_saved_before_the_first_run_of_each(validated, tmp_path):
    place = tmp_path / "predictions.json"

    class Checking(Machine):
        def __call__(self, launch, **keys):
            told = json.loads(place.read_text())
            assert told["schema"] == "parcast/predictions/1"
            saved = [x["asked"] for x in told["predictions"] if x["pass"] == launch.turn]
            assert all(x.request.model_dump(mode="json") in saved for x in launch.distinct)
            super().__call__(launch, **keys)

    machine = Checking()
    result = validated(machine, save_predictions=place)
    assert len(machine.launches) == 4
    told = json.loads(place.read_text())["predictions"]
    assert told[0]["made"] == result.saved.at
    rows = {str(row.case.request.model_dump(mode="json")): row for row in result.compared}
    assert (len(told), len(rows)) == (10, 5)  # in two passes
    for each in told:
        made = rows[str(each["asked"])].predicted
        assert each["time_s"] == pytest.approx(made, rel=1e-12)
        assert each["costs"]["servers"]["write_rate"] == 5e8
        assert each["sources"] == {"write_rate": "made up"}
    assert result.to_document()["predictions_file"] == str(place)


def test_a_prediction_is_the_law_with_the_costs_of_that_very_request():
    asked = request(client_mesh=[2, 2], servers=2, writer="sync")
    fast = predicted(asked, MeasuredRequest(COSTS, {}))
    slow_disk = replace(COSTS, servers=replace(COSTS.servers, write_rate=5e4))
    slow = predicted(asked, MeasuredRequest(slow_disk, {}))
    assert sum(fast.parts.values()) == pytest.approx(fast.time)
    bytes_of_a_server = asked.size  # a small array lies in one file
    difference = bytes_of_a_server / 5e4 - bytes_of_a_server / 5e8
    assert slow.time - fast.time == pytest.approx(difference)
    assert slow.parts["assembly"] == pytest.approx(fast.parts["assembly"])


def test_each_layout_has_two_passes_with_rounds_in_random_orders(validated):
    machine = Machine()
    validated(machine, repetitions=5, seed=3)
    assert [x.number for x in machine.launches] == [1, 2, 1, 2]
    assert [len(rounds_of(x)) - 1 for x in machine.launches] == [3, 2, 3, 2]  # one does not count
    for launch in machine.launches:
        assert len({case.layout for case in launch.cases}) == 1
        assert all({*cases} == {*launch.distinct} for cases in rounds_of(launch))
        assert launch.time_limit > launch.expected
    rounds = next(rounds_of(x) for x in machine.launches if len(x.distinct) == 3)
    assert len(set(map(tuple, rounds))) > 1
    again = Machine()
    validated(again, repetitions=5, seed=3)
    assert [x.cases for x in again.launches] == [x.cases for x in machine.launches]


@pytest.mark.parametrize(("quiet", "made"), [(0, 5), (2, 10), (3, 5)])
def test_disturbed_runs_count_where_too_few_others_are_there(validated, quiet, made):
    machine = Machine(others=lambda _place, number: 100.0 * (number > quiet))
    [row] = validated(machine, requests=[request()]).compared
    counting = quiet if quiet >= 3 else made
    assert (len(row.runs), len(row.others)) == (counting, made - counting)
    assert (row.counted.disturbed, row.is_disturbed) == (made - quiet, quiet < 3)


def test_disturbed_runs_are_told_by_their_number(validated):
    machine = Machine(others=lambda _place, number: 100.0 * (number > 2))
    result = validated(machine, requests=[request()])
    [row] = result.rows()
    assert (row["runs"], row["runs_disturbed"], row["disturbed_count"]) == (10, 8, True)
    assert "8 of 10 runs, 0 excluded, 8 used for lack of others, by other programs" in " ".join(
        str(result).split()
    )


@pytest.mark.parametrize(
    "wrong", [{"launch": 3}, {"case": RequestCase(7, request())}, {"seconds": 0.0}]
)
def test_a_launcher_that_reports_other_trials_is_told(validated, wrong):
    class Mistaken(Machine):
        def __call__(self, launch, *, report):
            super().__call__(launch, report=lambda x: report(replace(x, **wrong)))

    with pytest.raises(ParameterError, match="launcher must report trials of the cases"):
        validated(Mistaken())


def test_a_machine_that_is_never_idle_gets_an_answer_with_wider_limits(validated):
    slower = Machine(factor=lambda *_: 1.5, others=lambda *_: 100.0)
    result = validated(slower)
    assert result.holds is True
    assert all(row.is_disturbed for row in result.compared)
    told = " ".join(str(result).split())
    assert "5 of 5 requests (100%) within 40% (required: 90%)" in told
    assert "the machine was never idle, so that limits are wider" in told
    far = Machine(factor=lambda *_: 2.0, others=lambda *_: 100.0)
    result = validated(far)
    assert result.holds is None
    assert "but the machine was never idle. Repeat on an idle machine" in " ".join(
        str(result).split()
    )
    assert validated(Machine(others=lambda *_: 100.0)).holds is True


def test_what_is_not_known_of_others_disturbs_nothing(validated):
    assert validated(Machine(others=lambda *_: None)).holds is True


def test_quick_takes_the_marked_requests(validated):
    result = validated(quick=True)
    assert [row.case.request for row in result.compared] == [x for x in several() if x.quick]
    assert result.facts["left_out"] == 3
    with pytest.raises(ParameterError, match="some requests have quick = true"):
        validated(requests=[request()], quick=True)


def test_an_interruption_keeps_what_was_compared(validated):
    result = validated(Machine(fails_after=2))
    assert result.ended_by == "interrupted"
    assert 0 < len(result.compared) < 5
    assert len(result.parts[0].comparisons) == 5  # the other layout was predicted
    numbers = [row["request"] for row in result.rows()]
    assert numbers == [1, 2, 3, 4, 5]


def test_a_part_is_shown_with_the_numbers_of_the_list(validated):
    requests = [request(client_mesh=[clients, 1]) for clients in (2, 3, 4, 5)]
    result = validated(Machine(fails_after=2), requests=requests)
    numbers = [row.case.number for row in result.parts[0].comparisons]
    assert len(result.compared) == 1
    assert len(numbers) < 4
    cells = result.to_sheet(show_all=True).parts[0].tables[1].forms[0].columns[0].cells
    assert list(cells) == list(map(str, numbers))
    assert numbers != list(range(1, 1 + len(numbers)))
    assert "only 1 of 4 requests were measured. Allow more time" in " ".join(str(result).split())


def test_a_folder_without_room_is_refused(validated, tmp_path):
    large = request(shape=[2**20, 2**20])
    with pytest.raises(RunFailed, match="Choose another folder"):
        validated(requests=[large])
    with pytest.raises(ParameterError, match="folder must be a folder that exists"):
        validated(folder=tmp_path / "nowhere")


def test_room_is_asked_for_as_reference_requests_need_it(validated, monkeypatch):
    fast = validated().facts["space_bytes"]
    slow_bed = Testbed(hosts=2, cpu=None, disk=1e7)
    monkeypatch.setattr("parcast.arrays.subject.testbed_here", lambda: slow_bed)
    assert 2 * validated().facts["space_bytes"] < fast  # 18 MiB for a server at most, not 128


@pytest.mark.parametrize(
    ("disk", "source"),
    [(1e7, "list of parcast for slow disks"), (1e8, "list of parcast")],
)
def test_disks_of_a_testbed_decide_which_list_is_taken(validated, monkeypatch, disk, source):
    bed = Testbed(hosts=16, cpu=None, disk=disk)
    monkeypatch.setattr("parcast.arrays.subject.testbed_here", lambda: bed)
    result = validated(requests=None, quick=True)
    assert result.facts["requests"] == source
    largest = max(row.case.request.size for row in result.compared)
    assert (largest <= 16 << 20) is (source != "list of parcast")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"repetitions": 0}, "repetitions must be a whole number of at least 1"),
        ({"time_limit": 0}, "time_limit must be above 0"),
        ({"requests": []}, "requests must be a whole number of at least 1"),
        ({"requests": [1]}, "requests"),
    ],
)
def test_wrong_arguments_are_refused(validated, options, says):
    with pytest.raises(ParameterError, match=says):
        validated(**options)


def test_parts_of_a_run_are_those_of_the_last_server():
    one = run_of(case_of(request()))
    last = replace(one.observed[0], seconds=2.0, gathering=0.5, accessing=1.8, begun=0.25)
    two = replace(one, observed=(*one.observed, last), seconds=2.5)
    assert observed_components(two) == Components(0.25, 0.5, 1.5, 0.25)
    read = replace(two, case=case_of(request(operation="read")))
    assert observed_components(read) == Components(0.25, pytest.approx(0.2), 1.8, 0.25)


def test_the_document_has_every_run_and_part(validated):
    result = validated()
    told = json.loads(json.dumps(result.to_document()))
    assert told["schema"] == "parcast/array-io-validation/1"
    assert len(told["rows"]) == 5
    assert len(told["runs"]) == 25
    row = told["rows"][0]
    assert row["error"] == pytest.approx(row["predicted_s"] / row["measured_s"] - 1)
    assert told["accuracy"]["all"]["within"] == 5
    assert {x["metric"] for x in result.measurement_rows()} >= {"time_s", "predicted", "startup"}


def test_the_sheet_names_every_request_if_asked_to(validated):
    result = validated()
    assert "Requests" not in str(result)
    for table in result.to_sheet(show_all=True).parts[0].tables[1:]:
        assert all(len(form.columns[0].cells) == 5 for form in table.forms)
        assert len(table.in_full) == 5


def test_every_request_is_shown_with_the_errors_of_its_parts(validated):
    result = validated(Machine(factor=lambda *_: 1.25), requests=[request()])
    [row] = result.parts[0].comparisons
    text = "\n".join(lay_out(result.to_sheet(show_all=True), Page(width=40))[0])
    for name in row.parts:
        assert name in text
        assert signed_percent(row.part_error(name)) in text
    assert sum(map(row.part_error, row.parts)) == pytest.approx(row.error())


def test_the_picture_has_a_point_for_each_request(validated):
    result = validated(Machine(others=lambda *_: 100.0))
    [ax] = figure_of_validation(result).axes
    points = [x for x in ax.lines if isinstance(x, Line2D) and x.get_linestyle() == "None"]
    assert sum(len(x.get_xdata()) for x in points) == 5
    labels = set(ax.get_legend_handles_labels()[1])
    assert {"sync", "write-behind", "double-buffer", "read"} <= labels
    assert DISTURBED in labels
    assert "within 20%" in labels


def test_ranks_of_a_testbed_have_a_link_each():
    crowded = placement_of(Layout(8, 4, True), None)
    assert (crowded.cores, crowded.link) == (inf, inf)
    assert (len(crowded.clients), len(crowded.servers), list(crowded.serving)) == (8, 4, [])
    assert list(placement_of(Layout(4, 2, False), None).serving) == [1, 3]
    on_hosts = placement_of(Layout(4, 2, True), Testbed(hosts=4, link=1e8, cpu=0.05))
    assert on_hosts.link == 1e8
    assert set(on_hosts.clients) | set(on_hosts.servers) == {0, 1, 2, 3}
