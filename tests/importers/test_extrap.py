"""`parcast.importers.extrap`: one study in its four forms, and what is said of other files."""

import json
import zipfile
from functools import partial
from pathlib import Path

import pytest

from parcast.errors import FileProblems
from parcast.importers.registry import import_timings, recognised
from parcast.timings.measurements import Measurements
from tests.importers import refused

read = partial(import_timings, format="extrap")
refusal = partial(refused.refusal, read=read)

DATA = Path(__file__).parent / "data"
FORMS = ["extrap.txt", "extrap_newer.json", "extrap_older.json", "extrap.jsonl"]
STUDY = Measurements(
    p=[4, 4, 8, 8, 8] * 2,
    n=[100, 100, 100, 100, 200] * 2,
    callpath=["main"] * 5 + ["main->solve"] * 5,
    repetition=[1, 2, 1, 2, 1] * 2,
    time=[8.5, 8.25, 4.5, 4.75, 9.5, 6, 6, 3, 3, 6.5],
)
TEXT = "PARAMETER p\nPOINTS 1 2\nDATA 8\nDATA 4\n"


# what is read


@pytest.mark.parametrize("name", FORMS)
def test_each_form_tells_the_same_study(name):
    told = read([DATA / name])
    assert told.measurements == STUDY
    assert told.notes == ("Metrics other than time are ignored: visits.",)


def test_a_minimum_beside_a_maximum_is_no_time_in_minutes(file):
    lines = [
        json.dumps({"params": {"p": p}, "callpath": "main", "metric": metric, "value": value})
        for p, least in ((4, 8.1), (8, 4.2))
        for metric, value in (("time_min", least), ("time_max", least + 0.5))
    ]
    path = file("\n".join(lines), "profile.jsonl")
    says = refusal(path)
    assert "must have one metric that is the time, got time_min, time_max." in says
    assert says.endswith("metric='time_max'")
    told = read([path], metric="time_min")
    assert told.measurements.time.tolist() == [8.1, 4.2]
    assert told.notes == ("The metric time_min is read as wall time in seconds.",)


def test_a_bad_value_of_a_metric_counts_only_where_the_metric_is_chosen():
    assert "line 24  visits  must be a time above 0, got -1.0." in refusal(
        DATA / "extrap.txt", metric="visits"
    )


@pytest.mark.parametrize(
    ("metric", "seconds"),
    [("time_ms", 8e-3), ("Time [us]", 8e-6), ("runtime", 8), ("wall time (ns)", 8e-9)],
)
def test_the_unit_of_a_metric_ends_its_name(file, metric, seconds):
    told = read([file(TEXT.replace("DATA 8", f"METRIC {metric}\nDATA 8"))])
    assert told.measurements.time[0] == pytest.approx(seconds)
    assert told.notes == ()


def test_times_of_0_are_left_out_and_counted(file):
    told = read([file(TEXT + "REGION never called\nDATA 0 0\nDATA 3\n")])
    assert told.measurements.columns["callpath"].tolist() == ["<root>", "<root>", "never called"]
    assert told.notes[-1] == "2 times of 0 are left out: a time must be above 0."


# the axes


def test_two_words_for_p_are_not_guessed_between(file):
    path = file('{"params": {"ranks": 2, "threads": 4}, "value": 5}\n')
    assert refusal(path) == (
        "file  must have one processor count, got ranks, threads. Choose one: "
        "rename={'ranks': 'p'}"
    )
    told = read([path], rename={"ranks": "p"})
    assert told.measurements == Measurements(p=2, threads=4, time=5)


def test_a_file_without_processors_is_refused_with_what_to_do(file):
    path = file(TEXT.replace("PARAMETER p", "PARAMETER size"))
    assert refusal(path) == (
        "file  must have the processor count, got only size. Set it: constants={'p': COUNT}, or "
        "rename a parameter: rename={'size': 'p'}"
    )
    assert read([path], constants={"p": 64}).measurements.p.tolist() == [64, 64]


# what is refused


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (" \n\n", "file  must contain measurements, got an empty file."),
        ("PARAMETER p\n", "line 1  must have POINTS lines, got none."),
        ("PARAMETER p\nPOINTS 1 2\n", "line 2  must have DATA lines, got none."),
        ("POINTS 1 2\n", "line 1  must have a line PARAMETER before POINTS."),
        ("PARAMETER p\nPOINTS 1 2\nDATA 8\n", "a DATA line for each of the 2 points, got 1."),
        (TEXT + "DATA 3\n", "line 5  must be at most as many DATA lines as points (2)"),
        (TEXT.replace("DATA 4", "DATA fast"), "line 4  DATA must be numbers, got 'fast'."),
        (TEXT.replace("DATA 4", "DATA"), "line 4  DATA must have a value, got none."),
        (TEXT.replace("DATA 4", "DATA -4"), "must be a time above 0, got -4.0."),
        (TEXT.replace("POINTS 1 2", "POINTS 1 1.5"), "line 2  p  must be a whole number"),
        (TEXT.replace("POINTS 1 2", "POINTS 1 x"), "line 2  must be numbers, got 'x'."),
        (TEXT.replace("POINTS 1 2", "POINTS (1 2) (2 3)"), "line 2  must have 1 values in each"),
        (TEXT.replace("POINTS 1 2", "POINTS (1) (2"), "line 2  must close each parenthesis"),
        (TEXT + "PARAMETER n\n", "line 5  PARAMETER must come before POINTS."),
        (b"PARAMETER p\n\0", "line 2  must be text, got a NUL byte."),
        (b"PARAMETER p\xff\n", "line 1  must be UTF-8, got the byte 0xff. Save it as UTF-8."),
        (b"\x1f\x8b12", "file  must be unpacked, got a gzip archive. Unpack it: gzip -dc < "),
        ('{"params": {"p": 1}, "value": 2}\n{"params": {"p"', "line 2  must be complete JSON"),
        ('{"params": {"p": 1}, "value": 2}\nx\n', "line 2  must be JSON, got 'x' at column 1."),
        ('{"params": {"p": 1}}\n', 'line 1  must have a "value", got none.'),
        ('{"params": {"p": 1}, "value": 2}\n{"params": {"n": 1}, "value": 2}', "line 2  value"),
        ('{"params": {"p": 1}, "value": "2"}', "line 1  value  must be a time above 0, got '2'."),
        ('{"params": {"p": [1]}, "value": 2}', "p must be a finite number, got [1]."),
        ('{"params": {"p": 1, "run": 2}, "value": 2}', "the parameter 'run' must be the name of"),
        (TEXT.replace("DATA 4", "DATA 1e-40"), "time must lie between 1e-30 and 1e30 s"),
        ('{"params": {"p": 1}, "callpath": "a\\nb", "value": 2}', "callpath must be a name: one"),
        ('{"a": 1}', 'file  must have "parameters" and "measurements" as Extra-P writes them'),
        ("[1]", "line 1  must begin with PARAMETER, POINTS, REGION, METRIC or DATA, got '[1]'."),
        ('{"point": [1], "values": [1]}', "got another kind of JSON."),
    ],
)
def test_a_file_that_is_none_is_refused_with_its_place_and_a_remedy(file, content, says):
    assert says in refusal(file(content))


def changed(name, change):
    """Give the content of a JSON sample, one part of it changed."""
    document = json.loads((DATA / name).read_text())
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("extrap_newer.json", lambda x: x.update(parameters="p"), "parameters  must be a list"),
        ("extrap_newer.json", lambda x: x.update(parameters=[1]), "parameters  must be names"),
        (
            "extrap_newer.json",
            lambda x: x["measurements"]["main"]["time"][1].update(values=[3, None]),
            "measurements.main.time[1]  must be a time above 0, got None.",
        ),
        (
            "extrap_newer.json",
            lambda x: x["measurements"]["main"]["time"][1].update(values=[10**400]),
            "measurements.main.time[1]  must be a time above 0, got inf",
        ),
        (
            "extrap_newer.json",
            lambda x: x["measurements"]["main"]["time"][1].update(point=[1]),
            "measurements.main.time[1].point  must have 2 values, p, n, got 1.",
        ),
        (
            "extrap_newer.json",
            lambda x: x["measurements"]["main"]["time"][0].pop("point"),
            'measurements.main.time[0]  must be {"point": [...], "values": [...]}.',
        ),
        (
            "extrap_newer.json",
            lambda x: x["measurements"].update(main=3),
            "measurements.main  must be an object, got 3.",
        ),
        (
            "extrap_older.json",
            lambda x: x["measurements"][2].update(coordinate_id=9),
            "measurements[2]  must refer to a coordinate, callpath and metric that are listed.",
        ),
        (
            "extrap_older.json",
            lambda x: x["measurements"][2].update(value=-1),
            "measurements[2]  must be a time above 0, got -1",
        ),
        (
            "extrap_older.json",
            lambda x: x["measurements"][2].pop("value"),
            'measurements[2]  must have "coordinate_id" and "value".',
        ),
        (
            "extrap_older.json",
            lambda x: x["coordinates"][0]["parameter_value_pairs"][0].update(parameter_id=7),
            "coordinates[0]  must refer to a parameter that is listed.",
        ),
        (
            "extrap_older.json",
            lambda x: x["parameters"][0].update(id=[1]),
            'parameters[0]  must have a number as "id", got [1].',
        ),
        ("extrap_older.json", lambda x: x.pop("coordinates"), "coordinates  must be a list"),
        ("extrap_older.json", lambda x: x["metrics"][0].pop("name"), 'must have a "name"'),
    ],
)
def test_a_fault_in_json_is_named_by_its_keys(file, name, change, says):
    assert says in refusal(file(changed(name, change)))


@pytest.mark.parametrize("name", ["time [msec]", "time_millis", "time [furlong]", "time [MB/s]"])
def test_a_unit_that_is_not_known_is_refused(file, name):
    path = file(
        f"PARAMETER p\nPOINTS 1 2 4\nREGION main\nMETRIC {name}\nDATA 8\nDATA 5\nDATA 3\n",
        "profile.txt",
    )
    with pytest.raises(FileProblems, match="must have times in one of"):
        read([path])


@pytest.mark.parametrize(
    ("limit", "most", "says"),
    [
        ("runs.MOST_ROWS", 3, "line 6  must have at most 3 times, got more. Split it into sev"),
        ("runs.MOST_POINTS", 1, "must have at most 1 points, got more."),
        ("extrap.MOST_POINTS", 0, "line 2  must have at most 0 points, got more."),
        ("extrap.MOST_COLUMNS", 0, "line 1  must have at most 0 parameters, got more."),
        ("runs.MOST_NAMES", 0, "must have at most 0 callpaths, got more."),
        ("runs.MOST_TEXT", 3, "must have at most 3 characters in its callpaths, got more."),
        ("runs.MOST_METRICS", 0, "must have at most 0 metrics, got more."),
    ],
)
def test_more_than_fits_into_memory_is_refused(limit, most, says, monkeypatch, file):
    monkeypatch.setattr(f"parcast.importers.{limit}", most)
    path = file(
        "PARAMETER p\nPOINTS 1 2\nREGION main\nMETRIC time\nDATA 8 8\nDATA 4 4\n", "profile.txt"
    )
    with pytest.raises(FileProblems) as caught:
        import_timings(path, "extrap")
    assert says in str(caught.value)


# what Extra-P 4 saves


@pytest.fixture
def saved(tmp_path):
    """Write an archive as Extra-P 4 saves it, with one measurement at each of some points."""

    def write(*measured, name="x.extra-p", **members):
        document = {
            "Extra-P": "4.2.5", "parameters": ["p"],
            "measurements": {"main": {"time": list(measured)}}, "scaling": None,
        }  # fmt: skip
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for member, content in members.items():
                archive.writestr(f"values/{member.replace('_', '.')}", content)
            archive.writestr("experiment.json", json.dumps(document))
        (tmp_path / "experiment.json").write_text(json.dumps(document))
        return tmp_path / name

    return write


def measurement(p, median, values=None):
    return {"coordinate": [p], "median": median, "mean": median, "values": values}


def test_an_experiment_that_extra_p_saved_is_read_with_the_values_that_it_kept():
    path = DATA / "extrap_kept.extra-p"
    main = read([path]).measurements.select(callpath="main")
    assert main.p.tolist() == [4, 4, 8, 8, 8]
    assert main.time.tolist() == [8.5, 8.25, 4.5, 4.75, 9.5]
    assert recognised(path).name == "extrap"


def test_without_values_the_medians_are_used_and_it_is_said():
    told = read([DATA / "extrap_saved.extra-p"])
    assert told.measurements.select(callpath="main").time.tolist() == [8.375, 4.625, 9.5]
    assert told.notes[0] == (
        "12 measurements have no values, and the median is used. Keep them: extrap --keep-values"
    )


def test_values_in_the_document_itself_are_times(saved):
    told = read([saved(measurement(4, 8, [7, 9]), measurement(8, 4.5, [4.0, 4.5, 5.0]))])
    assert told.measurements.time.tolist() == [7, 9, 4, 4.5, 5]
    assert told.notes == ()
    mean = {"coordinate": [4], "mean": 8.5}
    assert read([saved(mean)]).measurements.time.tolist() == [8.5]


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"0_indx": b"x", "0_vals": b"x"}, "must have values of Extra-P in chunk 0."),
        (
            {"0_indx": b"Extra-P INDEX" + bytes(11), "0_vals": b"Extra-P VALUES" + bytes(2)},
            "must have the values [0, 1], got:",
        ),
        ({"0_indx": b""}, "must be an archive of Extra-P with values/0.vals, got:"),
    ],
)
def test_damaged_values_are_refused(saved, members, says):
    assert says in refusal(saved(measurement(4, 8.5, [0, 1]), **members))


def test_a_damaged_archive_is_refused(saved):
    path = saved(measurement(4, 8.5))
    path.write_bytes(path.read_bytes()[:60])
    says = "must be an archive of Extra-P with experiment.json, got: File is not a zip file."
    assert says in refusal(path)


def test_talpas_is_json_lines_with_semicolons(file):
    line = '{"parameters": {"p": %d;"n": 2};"metric": "time";"callpath": "a;b";"value": %s}'
    path = file("\n".join((line % (4, 8.5), line % (8, 4.25))), "talpas.txt")
    assert recognised(path).name == "extrap"
    assert read([path]).measurements == Measurements(
        p=[4, 8], n=2, time=[8.5, 4.25], callpath="a;b"
    )
