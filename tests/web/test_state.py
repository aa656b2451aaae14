"""What the page is asked: addresses, files, panels and amounts that are set."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from parcast.descriptions.amount import Amount
from parcast.errors import FileProblems, ParameterError
from parcast.web.amounts import changed_description, require_size, scaled, set_amounts
from parcast.web.folder import LARGEST, PageFolder
from parcast.web.panels import panels_of
from parcast.web.state import PageState
from tests.conftest import ROOT, until

BTIO = [ROOT / "examples" / "btio" / x for x in ("program.toml", "sp2.toml")]
TIMES = ROOT / "examples" / "nas_bt" / "times.csv"


@pytest.fixture
def folder():
    with PageFolder() as made:
        for path in (*BTIO, TIMES):
            made.add(path.name, path.read_bytes())
        yield made


def asked(folder, *pairs):
    return PageState.of(pairs, folder.files)


def test_a_state_is_the_same_after_a_way_through_the_address(folder):
    pairs = (("file", "sp2.toml"), ("p", "1,2"), ("set.a.b", "1 s"), ("x.c", "-1.5"))
    state = asked(folder, *pairs, ("n", ""), ("x.d", "0"))
    assert asked(folder, *pairs) == state
    assert state.query() == "file=sp2.toml&p=1%2C2&set.a.b=1+s&x.c=-1.5"
    linear = asked(folder, *pairs, ("axes", "linear"))
    assert linear != state
    assert linear.query() == f"{state.query()}&axes=linear"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("file", "/etc/passwd", "file must name a file of this page"),
        ("donors", "../x.csv", "donors must name a file of this page"),
        ("output", "x.csv", "output must be a field of this page"),
        ("axes", "polar", "axes must be linear"),
        ("x.network.latency", "99", "from -6 to 6"),
        ("x.network.latency", "nan", "from -6 to 6"),
        ("x.network.latency", "fast", "from -6 to 6"),
        ("p", "1" * 201, "at most 200 characters"),
        ("p", "1\n2", "without line ends"),
    ],
)
def test_an_address_that_is_not_valid_is_refused_by_name(folder, key, value, said):
    with pytest.raises(ParameterError, match=said):
        asked(folder, (key, value))


def test_panels_follow_from_the_files(folder):
    assert [x.name for x in panels_of(asked(folder))] == [
        *("predict", "explain", "plan"),
        *("forecast", "parts", "ask"),
    ]
    assert next(panels_of(asked(folder, ("file", TIMES.name)))).name == "forecast"
    assert not [*panels_of(asked(folder, ("file", "sp2.toml")))]
    folder.add("other.csv", TIMES.read_bytes())
    assert [x.name for x in panels_of(asked(folder))][-1] == "compare"
    assert "compare" not in [x.name for x in panels_of(asked(folder, ("donors", "other.csv")))]


def test_values_never_become_options(folder):
    [panel, *_] = panels_of(asked(folder))
    state = asked(folder, ("p", "--json"), ("vary", "-o x.csv"))
    options = panel.options(state, {"a": "-1 s"})
    words = panel.words(options)
    assert words[-3:] == ["--processors=--json", "--vary=-o x.csv", "--set=a=-1 s"]
    assert shlex.split(panel.line(options, state))[1:] == [*words[:-1], "--set", "a=-1 s"]


def test_a_file_whose_name_begins_as_an_option_is_written_as_a_path(folder):
    folder.add("-x.csv", TIMES.read_bytes())
    [panel, *_] = panels_of(asked(folder, ("file", "x.csv")))
    assert panel.line([], asked(folder)) == "parcast forecast ./-x.csv"


@pytest.mark.fault(
    "The what-if page",
    "The page is killed, or ended by SIGQUIT.",
    promise="Its copies of files are removed.",
)
@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGKILL])
def test_a_folder_is_gone_when_its_process_is(number, tmp_path):
    text = f"""import os
from parcast.web.folder import PageFolder
with PageFolder() as folder:
    open("x.csv", "w").close()
    os.kill(os.getpid(), {int(number)})"""
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", text], check=False, env=env)
    assert done.returncode == -number
    until(lambda: not [*tmp_path.iterdir()])


def test_more_points_than_a_page_answers_are_refused(folder):
    panels = {x.name: x for x in panels_of(asked(folder))}
    for name, text in (("predict", "1..4096"), ("forecast", "1..1001")):
        with pytest.raises(ParameterError, match="points on a page"):
            panels[name].options(asked(folder, ("p", text), ("d", "1..64")), {})


def test_a_slider_multiplies_what_the_field_says(folder):
    state = asked(folder, ("set.network.latency", "10 us"), ("x.network.latency", "1"))
    given = set_amounts(state)
    assert given == {"network.latency": "20 us"}
    program, machine, *_ = folder.files
    assert 'latency = "20 us"' in changed_description(machine, given)
    assert changed_description(program, given) == BTIO[0].read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "dimension", "said"),
    [
        ("27 MB/s +- 1 MB/s", "rate", "54 MB/s +- 3.704%"),
        ("5", "count", "10"),
        ("0", "count", "0"),
        ("0 B/s", "rate", "0 B/s"),
        ("10 s", "rate", "20 s"),
        ("1.5", "count", "3"),
        ("6*sqrt(p)", "count", "2 * (6*sqrt(p))"),
        ("nonsense", "time", "nonsense"),
    ],
)
def test_amounts_are_scaled_as_they_are_written(text, dimension, said):
    like = Amount.of("1", ["count"], name="x") if dimension == "count" else None
    like = like or Amount.of({"rate": "1 B/s", "time": "1 s"}[dimension], [dimension], name="x")
    assert scaled(text, 2.0, like) == said


def test_names_of_files_have_no_folders_and_differ_where_the_files_do(folder):
    added = folder.add("../../etc/my;times.csv", TIMES.read_bytes())
    assert added.name == "my_times.csv"
    assert folder.add("../../etc/my;times.csv", b"p,time_s\n1,2\n").sha256 != added.sha256
    assert folder.add("my times.csv", TIMES.read_bytes()).name == "my_times-2.csv"
    assert [x.name for x in folder.files][-2:] == ["my_times.csv", "my_times-2.csv"]
    state = asked(folder, ("file", "my_times.csv"))
    panel = next(panels_of(state))
    assert "'../../etc/my;times.csv'" in panel.line([], state)
    folder.remove("my_times.csv")
    assert "my_times.csv" not in [x.name for x in folder.files]


def test_a_program_of_a_size_asks_for_it(folder):
    for name in ("program.toml", "machine.toml"):
        folder.add(f"stencil/{name}", (ROOT / "examples" / "stencil" / name).read_bytes())
    pair = [("file", "program-2.toml"), ("file", "machine.toml")]
    with pytest.raises(ParameterError, match="Enter a problem size n"):
        require_size(asked(folder, *pair))
    require_size(asked(folder, *pair, ("n", "4000")))


def test_a_table_is_no_donor_of_itself(folder):
    with pytest.raises(ParameterError, match="another table"):
        asked(folder, ("file", TIMES.name), ("donors", TIMES.name))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "an empty file"),
        (b"[" * 5000, "valid TOML"),
        (b"1" * (LARGEST + 1), "at most 16 MB"),
        (b'[[phase]]\nlaw = "arrays"\nio = {costs = "/etc/passwd"}\n', "without folders"),
        (b'[[phase]]\nlaw = "arrays"\nio.costs = "../secret.toml"\n', "without folders"),
    ],
)
def test_files_that_are_refused_leave_nothing(folder, content, said):
    with pytest.raises(FileProblems, match=said):
        folder.add("new.toml", content)
    assert "new.toml" not in [x.name for x in folder.files]


def test_a_folder_is_gone_with_its_page():
    with PageFolder() as made:
        made.add("x.csv", b"p,time_s\n1,2\n")
    assert not Path(made.path).exists()
