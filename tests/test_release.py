"""What a release has besides its code: one version, a citation of its sources, a manual page."""

import re
import tomllib

import parcast
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_version_stands_in_one_place():
    assert PROJECT["project"]["dynamic"] == ["version"]
    place = ROOT / PROJECT["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{parcast.__version__}"' in place.read_text(encoding="utf-8")
    assert not re.search(r"^version:", CITATION, re.MULTILINE)
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {parcast.__version__.partition('.dev')[0]}" in changes


def test_the_citation_has_the_sources_that_the_laws_name():
    laws = "".join(x.read_text(encoding="utf-8") for x in (ROOT / "src").rglob("*.py"))
    cited = " ".join(laws.split())
    named = re.findall(r"^ +title: \"(.*)\"", CITATION, re.MULTILINE)
    assert len(named) == 5
    for title in named:
        assert title in cited, title
    for doi in re.findall(r"doi: (\S+)", CITATION):
        assert f":doi:`{doi}`" in cited


def test_the_wheel_has_the_manual_page():
    shared = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    for page in shared:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert text.startswith(".TH PARCAST 1 ")
        assert not re.search(r"^\.(?!TH|SH|SS|PP|TP|B|nf|fi)", text, re.MULTILINE)
