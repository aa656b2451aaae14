"""The served page: what it answers, whom it refuses, and how it ends."""

import json
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException
from threading import Thread

import pytest

from tests.conftest import ROOT
from tests.web.server import serving

BTIO = [ROOT / "examples" / "btio" / x for x in ("program.toml", "sp2.toml")]
TIMES = ROOT / "examples" / "nas_bt" / "times.csv"
HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(*BTIO, TIMES, folder=tmp_path_factory.mktemp("web")) as page:
        yield page


def test_the_page_has_an_answer_before_any_script_runs(served):
    status, headers, text = served.ask("/")
    assert status == 200
    assert "<svg" in text
    assert "90% interval" in text
    assert 'name="x.network.latency"' in text
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"


def test_every_panel_answers(served):
    for name in ("predict", "explain", "plan", "forecast", "parts", "ask"):
        status, _, text = served.ask(f"/panel/{name}?p=1,8,64")
        assert status == 200, name
        assert "<svg" in text, name
        assert "refusal" not in text, name


def test_pictures_have_linear_axes_if_asked(served):
    query = "p=16,64&d=16,64"
    own, linear = (served.ask(f"/panel/predict?{query}{axes}")[2] for axes in ("", "&axes=linear"))
    assert own.count("<svg xmlns") == linear.count("<svg xmlns") == 1
    assert linear.count(">0</text>") > own.count(">0</text>")


def test_the_command_line_of_the_page_gives_the_same(served, parcast, monkeypatch):
    query = "p=16,64&x.network.latency=2&set.io.volume=20+MB"
    _, _, text = served.ask(f"/panel/predict?{query}")
    line = text.partition("files as they are: <code>")[2].partition("</code>")[0]
    words = line.replace("&#39;", "'").replace("'", "").split(" ", 1)[1]
    assert "--set network.latency=600 us" in words
    monkeypatch.chdir(BTIO[0].parent)
    sets = ("--set", "io.volume=20 MB", "--set", "network.latency=600 us")
    said = parcast("predict", "program.toml", "sp2.toml", "-p", "16,64", *sets, "-o", "-")
    assert served.ask(f"/save/predict.csv?{query}")[2] == said.out


def test_what_is_saved_answers_the_same_again(served, parcast, file):
    query = "p=16,64&x.network.latency=2"
    saved = [file(served.ask(f"/save/{x}.toml?{query}")[2], f"{x}.toml") for x in KINDS]
    told = json.loads(served.ask(f"/save/predict.json?{query}")[2])
    again = json.loads(parcast("predict", *saved, "-p", "16,64", "--json").out)
    assert again["rows"] == told["rows"]
    assert served.ask("/save/machine.toml?set.network.latency=nonsense")[0] == 400
    assert served.ask("/save/program.toml?file=program.toml")[0] == 400
    report = served.ask(f"/save/predict.html?{query}")[2]
    assert "<dt>Set</dt><dd>network.latency = 600 us</dd>" in report
    assert report.startswith("<!DOCTYPE html>")
    assert "<svg" in report


KINDS = ("program", "machine")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("p=0", "must be"),
        ("set.network.latency=1+kg", "network.latency must be a time"),
        ("set.nothing=1", "--set must name"),
        ("p=1..4096%26d=1", "-p"),
    ],
)
def test_a_value_that_is_refused_is_said_in_the_panel(served, query, said):
    status, _, text = served.ask(f"/panel/predict?{query}")
    assert status == 200
    assert "refusal" in text
    assert said in text


@pytest.mark.fault(
    "The what-if page",
    "An address has a slider beyond its domain, an unknown field or an unknown file.",
    promise="Status 400; the page says which, and is there.",
)
@pytest.mark.parametrize("query", ["x.network.latency=99", "nothing=1", "file=/etc/passwd"])
def test_an_address_that_is_not_valid_shows_the_page_and_says_why(served, query):
    status, _, text = served.ask(f"/?{query}")
    assert status == 400
    assert "The address is not valid" in text
    assert "Prediction" in text
    assert served.ask(f"/panel/predict?{query}")[0] == 400


@pytest.mark.fault(
    "The what-if page",
    "A request has no token, another host, or comes from another site.",
    promise="Refused with status 403 or 421 before anything is read.",
)
def test_requests_from_elsewhere_are_refused(served):
    assert served.ask("/", Cookie=None)[0] == 403
    assert served.ask("/", Cookie=f"parcast-{served.port}=wrong")[0] == 403
    assert served.ask("/", Cookie=f'other={{"a": 1}}; {served.cookie}')[0] == 200
    assert served.ask("/?token=wrong", Cookie=None)[0] == 403
    assert served.ask("/web.js", Cookie=None)[0] == 403
    assert served.ask("/", Host="evil.example")[0] == 421
    assert served.ask("/", Host=f"evil.example:{served.port}")[0] == 421
    assert served.ask("/", Origin="http://evil.example")[0] == 403
    assert served.ask("/", Origin="null")[0] == 403
    assert served.add("x.csv", b"p,time_s\n1,2\n", Origin="http://evil.example")[0] == 403
    assert served.add("x.csv", b"p,time_s\n1,2\n", Sec_Fetch_Site="cross-site")[0] == 403
    assert served.ask("/", method="DELETE")[0] == 405


def test_the_token_of_the_address_becomes_a_cookie(served):
    status, headers, _ = served.ask(f"/?token={served.token}&p=1,2", Cookie=None)
    assert status == 303
    assert headers["location"] == "/?p=1%2C2"
    assert served.token in headers["set-cookie"]
    assert "HttpOnly" in headers["set-cookie"]
    assert "samesite=strict" in headers["set-cookie"].lower()


@pytest.mark.fault(
    "The what-if page",
    "A path that is asked for or added leads elsewhere.",
    promise="There is no such page; only files of the page are read.",
)
def test_no_file_of_the_machine_is_given(served):
    for path in ("/../../etc/passwd", "/%2e%2e/%2fetc%2fpasswd", "/etc/passwd", "/page.py"):
        assert served.ask(path)[0] == 404
    hidden = b'[[phase]]\nlaw = "arrays"\nio = {costs = "/etc/passwd"}\n'
    status, _, text = served.add("program2.toml", hidden)
    assert status == 400
    assert "without folders" in text


@pytest.mark.fault(
    "The what-if page",
    "A file that is added is empty, too large, or has a hostile name.",
    promise="Refused, or shown under a name without signs; the page goes on.",
)
def test_files_that_are_added(served):
    assert served.add("empty.csv", b"")[0] == 400
    assert served.ask("/files", method="POST", Content_Length=str(10**9))[0] == 413
    assert served.ask("/files", method="POST", body=iter([b"x"]), Content_Length=None)[0] == 411
    assert served.add(f"{HOSTILE}.csv", b"p,time_s\n1,8\n2,4.2\n4,2.3\n")[0] == 303
    text = served.ask("/")[2]
    assert "<script>alert" not in text
    name = "script_.csv"
    assert name in text
    assert served.ask(f"/panel/forecast?file={name}")[0] == 200
    body = f"name={name}"
    kind = {"Content_Type": "application/x-www-form-urlencoded"}
    assert served.ask("/files/remove", method="POST", body=body, **kind)[0] == 303
    assert name not in served.ask("/")[2]


def test_slow_answers_do_not_hold_quick_ones_up(served):
    """Predictions that are asked for after four decisions all come before the last of these."""
    done = []

    def ask(path):
        assert served.ask(path)[0] == 200
        done.append(path)

    with ThreadPoolExecutor(8) as pool:
        for i in range(4):
            pool.submit(ask, f"/panel/ask?certainty={80 + i}%25")
        for i in range(4):
            pool.submit(ask, f"/panel/predict?x.network.latency={1 + i / 4}")
    assert len(done) == 8
    assert done[-1].startswith("/panel/ask")


def ask_in_vain(page, path):
    with suppress(OSError, HTTPException):
        page.ask(path)


@pytest.mark.fault(
    "The what-if page",
    "Ctrl-C while answers are computed, or a browser that goes away.",
    promise="The page ends with status 0 within seconds; its folder is gone.",
)
def test_it_ends_at_once_and_leaves_nothing(tmp_path):
    here, copies = tmp_path / "here", tmp_path / "copies"
    here.mkdir()
    copies.mkdir()
    with serving(*BTIO, TIMES, folder=here, temporary=copies) as page:
        assert [x.name.startswith("parcast-web-") for x in copies.iterdir()] == [True]
        gone = socket.create_connection(("127.0.0.1", page.port))
        gone.sendall(
            f"GET /panel/ask HTTP/1.1\r\nHost: localhost\r\nCookie: {page.cookie}\r\n\r\n".encode()
        )
        gone.close()
        upload = socket.create_connection(("127.0.0.1", page.port))
        upload.sendall(
            f"POST /files HTTP/1.1\r\nHost: localhost\r\nCookie: {page.cookie}\r\n"
            "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 900\r\n\r\n".encode()
        )
        upload.close()
        assert page.ask("/")[0] == 200
        slow = Thread(target=ask_in_vain, args=(page, "/panel/predict?p=1..20000"))
        slow.start()
        time.sleep(0.5)
        began = time.perf_counter()
    slow.join()
    assert time.perf_counter() - began < 20
    assert page.process.returncode == 0
    assert "Traceback" not in page.said
    assert [*copies.iterdir(), *here.iterdir()] == []


@pytest.mark.fault(
    "The what-if page", "The port is in use.", promise="Status 2; the port is named."
)
def test_a_port_in_use_is_named(parcast):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = parcast("web", "--port", port)
    assert said.status == 2
    assert f"port {port} cannot be used" in said.err


def test_what_cannot_be_served_is_refused(parcast, file):
    assert parcast("web", "nowhere.csv", "--port", "0").status == 3
    assert parcast("web", file("", "empty.csv"), "--port", "0").status == 3
    said = parcast("web", file(b"\x00\x8fp\x01", "bin.csv"), "--port", "0")
    assert said.status == 3
    assert "bin.csv: 1 problem\n  file  must be text or in a format" in said.err


def test_without_the_extra_it_is_named():
    text = "import sys; sys.modules['starlette'] = None\nfrom parcast.cli import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", text, "web"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert 'pip install "parcast[web]"' in done.stderr
