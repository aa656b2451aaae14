"""`parcast.show.result`: what every answer can do, and that it survives being copied."""

import copy
import json
import pickle
import re
import sys
import warnings
from dataclasses import FrozenInstanceError, fields
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parcast.applications.sorting.sort_file import sort_file
from parcast.applications.text.features.extract import extract_features
from parcast.applications.text.search.search_documents import search_documents
from parcast.arrays.library.distribution import Block
from parcast.arrays.library.session import connect
from parcast.arrays.planning.plan_io import plan_io
from parcast.arrays.store.verification import Verifications
from parcast.arrays.store.verify import verify
from parcast.characterisation.characterise import characterise
from parcast.deciding.check.check import check
from parcast.deciding.compare.compare import compare
from parcast.deciding.explain.explain import explain
from parcast.deciding.goals.plan import plan
from parcast.deciding.machines.match import match
from parcast.deciding.proposal.propose import plan_proposal
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.fitting.fit import fit
from parcast.forecasting.forecast import forecast
from parcast.forecasting.memory.forecast_memory import forecast_memory
from parcast.kernels.trials.subject import validate
from parcast.measurement.batch import BatchRequest, write_jobs
from parcast.measurement.collect import JobStandings, standing_of
from parcast.measurement.measure import MeasuredCommand, measured
from parcast.measurement.point import points_of
from parcast.pipeline.explaining.explain import explain_pipeline
from parcast.pipeline.explaining.timeline import timeline_of
from parcast.pipeline.planning.plan import plan_pipeline
from parcast.pipeline.run import run_pipeline
from parcast.pipeline.traces.trace import read_trace
from parcast.pipeline.traces.traffic.check import check_traffic
from parcast.prediction.predict import predict
from parcast.prediction.trials.validate import validate_program
from parcast.projection.counted import project_counts
from parcast.projection.program import project
from parcast.saved.load import first_difference
from parcast.saved.load import load as load_result
from parcast.saved.result import SavedResult
from parcast.show.dataset import GridNote
from parcast.show.documents import MARKDOWN, tex
from parcast.show.html import NOTEBOOK, answer_of, worth_of
from parcast.show.pictures import canvas
from parcast.show.result import Result
from parcast.show.sheet import Sheet
from parcast.show.terminal import text_of
from parcast.simulation.simulate import simulate
from parcast.timings.measurements import Measurements
from parcast.timings.read_profiles import read_profiles
from tests.arrays.calibration.made import measured_costs
from tests.calibration.calibrated import WHOLE
from tests.kernels.trials.made import FakeRanks

MACHINE = Machine(name="gort")
PROGRAM = Program(phase=[{"law": "spmd", "compute": {"parallel": "8 s", "serial": "1 s"}}])
OF_REGIONS = Program(
    phase=[{"law": "regions", "region": [{"kind": "loop", "iteration": "8 s", "iterations": 4}]}]
)
ALONE = {"p": [1], "time": [16.0]}
COUNTED = Program(phase=[{"law": "counted", "count": [{"p": 1, "compute": "8 s"}]}])
RUNS = {"machine": ["a"] * 3 + ["b"] * 3, "p": [1, 2, 4] * 2, "time": [8, 5, 3, 9, 6, 5]}
EXAMPLES = Path(__file__).parents[2] / "examples"
STUDY = EXAMPLES / "stencil" / "runs.jsonl"
DOCUMENTS = sorted(STUDY.parent.glob("*.*"))  # not what Python has compiled of them
TRACED = EXAMPLES / "pipeline" / "run.jsonl"


def sorted_file():
    with TemporaryDirectory() as folder:
        np.save(f"{folder}/in.npy", np.arange(5.0)[::-1])
        return sort_file(f"{folder}/in.npy", f"{folder}/out.npy")


def verified():
    """Check a small store that is damaged."""
    with TemporaryDirectory() as folder:
        with connect() as io:
            io.write(f"{folder}/u", {"u": Block(np.ones((4, 4)), (4, 4), (1, 1))})
        chunk = Path(folder, "u", "u", "c.0.0")
        chunk.write_bytes(b"x" + chunk.read_bytes()[1:])
        return verify(f"{folder}/u")


def measured_program():
    with TemporaryDirectory() as folder:
        points = points_of({"p": [1, 2]}, {})
        return measured(
            MeasuredCommand(command=["true", "{p}"]), points, output=f"{folder}/t.csv", runs=1
        )


def job_standings():
    """Write jobs that nobody submits."""
    with TemporaryDirectory() as folder:
        jobs = write_jobs(
            MeasuredCommand(command=["./app", "{p}"]),
            points_of({"p": [1, 2, 4]}, {}),
            BatchRequest(ranks_per_node=2),
            runs=2,
            output=f"{folder}/t.csv",
        )
        return JobStandings(table="t.csv", jobs=tuple(standing_of(jobs)))


RESULTS = {
    "Calibration": lambda: WHOLE,
    "Characterisation": lambda: characterise(read_profiles([STUDY]).runs),
    "CountedProjection": lambda: project_counts(
        COUNTED, MACHINE, [1], known={"p": [1], "time": [8.0]}
    ),
    "DescriptionsExplained": lambda: explain(PROGRAM, MACHINE, p=2),
    "FeaturesResult": lambda: extract_features(DOCUMENTS),
    "Fit": lambda: fit(PROGRAM, Measurements(p=[1, 2, 4], time=[9.1, 5.0, 3.0]), MACHINE),
    "Forecast": lambda: forecast(RUNS, [8, 16]),
    "JobStandings": job_standings,
    "Match": lambda: match(RUNS),
    "MeasuredCosts": measured_costs,
    "MeasuredProgram": measured_program,
    "MemoryForecast": lambda: forecast_memory(
        {"p": [1, 2, 4], "time": [8, 5, 3], "memory_B": [9e9, 5e9, 3e9]}, [8, 16]
    ),
    "PipelinePlan": lambda: plan_pipeline(items=100, task="1 ms", ranks=4),
    "PipelineResult": lambda: run_pipeline(range(4), float),
    "PipelineSchedule": lambda: explain_pipeline(4),
    "Prediction": lambda: predict(PROGRAM, MACHINE, p=[1, 2], d=[1, 2]),
    "ProgramValidation": lambda: validate_program(PROGRAM, {"p": [1, 2], "time": [9.2, 5.1]}),
    "Projection": lambda: project(OF_REGIONS, MACHINE, [1, 2], base=MACHINE, known=ALONE),
    "ProfilesExplained": lambda: explain([STUDY]),
    "Proposal": lambda: plan_proposal({"p": [1, 2, 4], "time": [8, 5, 3]}),
    "RegressionCheck": lambda: check(RUNS, against=RUNS),
    "RequestPlan": lambda: plan_io((64, 64), (2, 2), servers=[1, 2]),
    "ResourcePlan": lambda: plan(RUNS),
    "SavedResult": lambda: SavedResult(document=match(RUNS).to_document()),
    "SearchResult": lambda: search_documents(DOCUMENTS, "stencil"),
    "Simulation": lambda: simulate(PROGRAM, MACHINE, p=[1, 2]),
    "SortedFile": sorted_file,
    "Timeline": lambda: timeline_of(read_trace(TRACED)),
    "TimingsExplained": lambda: explain({"p": [1, 2, 4], "time": [8, 5, 3]}),
    "TrafficCheck": lambda: check_traffic(read_trace(TRACED)),
    "Validation": lambda: validate("sort", launcher=FakeRanks(), seed=1),
    "Verification": verified,
    "VersionComparison": lambda: compare(RUNS, RUNS),
    "Verifications": lambda: Verifications(stores=(verified(),)),
}
COPIES = {
    "pickle": lambda result: pickle.loads(pickle.dumps(result)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.fixture(scope="module")
def made():
    """Each result, made once."""
    results = {}

    def make(name):
        if name not in results:
            results[name] = RESULTS[name]()
        return results[name]

    return make


@pytest.fixture(params=RESULTS)
def result(request, made):
    return made(request.param)


def test_every_result_is_known_here():
    def answers(kind):
        kinds = kind.__subclasses__()
        return set.union(*map(answers, kinds)) if kinds else {kind.__name__}

    assert answers(Result) - {"OwnDecision"} == set(RESULTS)  # that of plans of other packages


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_it_survives_being_copied(result, copied):
    again = copied(result)
    assert type(again) is type(result)
    assert json.dumps(again.to_document()) == json.dumps(result.to_document())
    assert str(again) == str(result)


def test_it_cannot_be_changed(result):
    with pytest.raises(FrozenInstanceError):
        setattr(result, fields(result)[0].name, None)
    with pytest.raises((AttributeError, TypeError)):
        result.anything = 1


def test_its_sheet_is_what_is_printed_and_shown(result):
    sheet = result.to_sheet()
    assert isinstance(sheet, Sheet)
    assert str(result) == text_of(sheet)
    shown = result._repr_html_()
    assert [x for x in (worth_of(sheet), answer_of(sheet, NOTEBOOK)) if x not in shown] == []


def test_a_notebook_shows_it_with_its_picture_in_an_element_of_its_own(result):
    shown = result._repr_html_()
    page = Page()
    page.feed(shown)
    page.close()
    assert page.open == []
    assert page.asked_for == []
    assert shown.startswith('<div class="parcast-result">')
    assert shown.count("<svg xmlns") == bool(result._picture)
    [style] = re.findall("<style>(.*?)</style>", shown)
    rules = [x.partition("{")[0] for x in style.split("}") if x]
    assert [x for rule in rules for x in rule.split(",") if ".parcast-result" not in x] == []
    assert "<script" not in shown
    assert shown == result._repr_html_()


def test_pictures_of_two_results_in_a_notebook_share_no_id(made):
    ids = []
    for name in ("ProfilesExplained", "PipelineSchedule", "Proposal", "ResourcePlan", "Timeline"):
        page = Page()
        page.feed(made(name)._repr_html_())
        ids += page.ids
    assert ids
    assert len(set(ids)) == len(ids)


def test_a_notebook_needs_no_matplotlib(made, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "<svg" in made("Prediction")._repr_html_()
    grid = predict(PROGRAM, MACHINE, p=range(1, 20), d=range(1, 20))
    assert "</svg>" in grid._repr_html_()  # of contours


def test_it_is_saved_by_the_ending_of_the_path(result, tmp_path):
    result.save(tmp_path / "a.json")
    result.save(str(tmp_path / "a.CSV"))
    document = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert document["schema"].startswith("parcast/")
    rows = (tmp_path / "a.CSV").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + len([*result.rows()])


def test_a_picture_is_saved_where_there_is_one(result, tmp_path):
    if result._picture:
        pytest.importorskip("matplotlib")
        result.save(tmp_path / "a.svg")
        text = (tmp_path / "a.svg").read_text(encoding="utf-8")
        assert text.startswith("<?xml")
        ElementTree.fromstring(text)
    else:
        with pytest.raises(ParameterError, match=r"must end in \.csv, .*\.md or \.tex, got"):
            result.save(tmp_path / "a.svg")


def test_both_writers_of_pictures_show_the_same(result):
    if not result._picture:
        pytest.skip("has no picture")
    pytest.importorskip("matplotlib")
    with canvas.drawing_by(canvas.SVG):
        ours = result._drawn()
    ours.draw_without_rendering()
    theirs = result._drawn()
    assert ours.get_suptitle() == theirs.get_suptitle()
    shown = [ax for ax in theirs.axes if ax.get_label() != "<colorbar>"]
    for one, other in zip(ours.axes, shown, strict=True):
        assert (one.x.title, one.y.title) == (other.get_xlabel(), other.get_ylabel())
        assert one.get_title() == (other.get_title() or other.get_title(loc="left"))
        for scale, ends in ((one.x, other.get_xlim()), (one.y, other.get_ylim())):
            if scale.low is not None and scale.high is not None:
                assert scale.limits == pytest.approx(ends)
    entries = [x.get_text() for each in theirs.legends for x in each.get_texts()]
    assert sorted(name for group in ours.groups for name in group) == sorted(entries)


def test_its_picture_is_there_when_it_was_saved_and_is_loaded_again(result, tmp_path):
    if not result._picture:
        pytest.skip("has no picture")
    result.save(tmp_path / "a.json")
    again = load_result(tmp_path / "a.json")
    assert canvas.svg_of(again._drawn) == canvas.svg_of(result._drawn)
    assert "<svg" in again._repr_html_()
    again.save(tmp_path / "b.json")
    one, other = (load_result(tmp_path / f"{x}.json") for x in "ab")
    assert first_difference(list(one.rows()), list(other.rows())) == ""
    assert type(again) is type(result)
    assert str(again) == str(result)


def test_a_page_holds_it_all_and_asks_for_nothing(result, tmp_path):
    pytest.importorskip("matplotlib")
    result.save(tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.open == []
    assert len(set(page.ids)) == len(page.ids)
    assert page.asked_for == []
    if result._picture:
        assert "<svg" in text
    assert [x.text for x in result._whole_sheet().facts if escape(x.text) not in text] == []


class Page(HTMLParser):
    """Elements that are still open, ids, and what a browser would ask for."""

    VOID = ("meta", "br", "input", "link", "img")

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.asked_for = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        places = (given.get(x, "") or "" for x in ("src", "href", "xlink:href"))
        self.asked_for += [x for x in places if x and not x.startswith("#")]

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize(
    ("ending", "plain"), [("md", lambda text: text.translate(MARKDOWN)), ("tex", tex)]
)
def test_its_tables_and_facts_are_a_document_for_a_paper(result, tmp_path, ending, plain):
    result.save(tmp_path / f"a.{ending}")
    text = (tmp_path / f"a.{ending}").read_text(encoding="utf-8")
    assert text.startswith(("**", r"\noindent\textbf{"))  # its title
    labels = re.findall(r"^\\label\{(tab:a-\d+)\}$", text, re.M)
    assert len({*labels}) == text.count(r"\begin{table}")
    sheet = result._whole_sheet()
    forms = [table.forms[0] for table in sheet.tables if table.forms]
    said = [sheet.title, *(x.full_title for form in forms for x in form.columns)]
    said += [fact.text for fact in sheet.facts]
    assert [x for x in said if plain(x) not in text] == []


def test_it_is_drawn_in_axes_that_pyplot_shows(result):
    plt = pytest.importorskip("matplotlib.pyplot")
    if not result._picture:
        with pytest.raises(ParameterError, match="has no picture"):
            result.plot()
        return
    axes = np.ravel(result.plot())
    assert all(isinstance(ax, Axes) for ax in axes)
    assert axes[0].figure is plt.gcf()
    with pytest.raises(ParameterError, match=r"ax must be a matplotlib Axes, got 'map'\."):
        result.plot("map")


def test_saving_leaves_nothing_with_pyplot(made, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.close("all")
    made("Forecast").save(tmp_path / "a.svg")
    assert not plt.get_fignums()


def test_an_ending_that_is_no_format_is_refused_with_all_that_are(made):
    with pytest.raises(ParameterError) as refusal:
        made("Forecast").save("x.bmp")
    assert str(refusal.value) == (
        'path must end in .csv, .json, .html, .md, .tex, .svg, .png or .pdf, got "x.bmp". '
        "The ending chooses the format."
    )


@pytest.mark.parametrize("name", ["x.csv", "x.json", "x.svg"])
def test_a_folder_that_is_not_there_is_named_with_how_to_make_it(made, tmp_path, name):
    with pytest.raises(ParameterError, match=f"Make it: mkdir -p {tmp_path / 'no'}"):
        made("Forecast").save(tmp_path / "no" / name)


def test_its_rows_are_a_table_of_pandas(result):
    pandas = pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    rows = [*result.rows()]
    assert len(frame) == len(rows)
    assert [*frame.columns] == [name for name in rows[0] if name not in result._never_filled]
    assert all(row[name] is None for row in rows for name in result._never_filled)
    for name in frame.columns:
        if all(row[name] is None for row in rows):
            assert frame[name].dtype == np.float64


def test_its_rows_over_axes_are_a_dataset(result):
    pytest.importorskip("xarray")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridNote)  # a plan leaves counts out
        dataset = result.to_xarray()
    assert dataset.sizes
    for row in result.rows():
        point = dataset.sel({axis: row[axis] for axis in dataset.sizes})
        for name in {"time_s", "memory_B", "base_s", "ratio", "predicted_s", "fits"} & {*row}:
            short = name.removesuffix("_s").removesuffix("_B")
            expected = np.nan if row[name] is None else row[name]
            np.testing.assert_equal(point[short].item(), expected)
            assert point[short].attrs == ({} if short == name else {"units": name[-1]})


@pytest.mark.parametrize("name", ["Forecast", "Match", "Validation"])
def test_a_picture_of_one_panel_is_drawn_in_given_axes(made, name):
    ax = Figure(layout="constrained").add_subplot()
    assert made(name).plot(ax) is ax
    assert ax.get_legend() is not None
    assert ax.get_xlabel()
    ax.figure.draw_without_rendering()
