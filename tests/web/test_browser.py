"""The page in Chromium: sliders, fields and files by pointer and keyboard, without a violation."""

import pytest

from tests.browser import needs_browser, opened, violations
from tests.conftest import ROOT
from tests.web.server import serving

pytestmark = needs_browser
BTIO = [ROOT / "examples" / "btio" / x for x in ("program.toml", "sp2.toml")]
TIMES = "p,time_s\n1,80\n2,42\n4,23\n8,14\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web")
    (folder / "times.csv").write_text(TIMES)
    with serving(*BTIO, "times.csv", folder=folder) as page:
        yield page


@pytest.fixture
def page(chromium, served):
    """The page when all its panels have answered; it must say nothing and ask nobody else."""
    with opened(chromium, served.address) as page:
        answered(page)
        yield page
        answered(page)
        assert page.said == []
        own = f"http://127.0.0.1:{served.port}/"
        assert [x for x in page.asked if not x.startswith((own, "data:", "blob:"))] == []


def answered(page):
    """Wait until no panel is without its answer; the policy of the page forbids to evaluate it."""
    page.wait_for_selector("main:not(:has([aria-busy])):not(:has([data-panel]:not(:has(.given))))")


def test_a_slider_moved_by_keyboard_changes_the_answer_and_the_address(page):
    before = page.inner_text("#panel-predict table")
    page.focus('[name="x.network.latency"]')
    for _ in range(16):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector(".amount.changed output:not(:empty)")
    answered(page)
    assert "x.network.latency=4" in page.url
    assert page.inner_text('[data-name="network.latency"] output').startswith("2.4 ms")
    assert page.inner_text("#panel-predict table") != before
    assert "--set 'network.latency=2.4 ms'" in page.inner_text("#panel-predict .same")
    page.wait_for_selector('#panel-plan .same:has-text("2.4 ms")')
    page.reload()
    answered(page)
    assert page.inner_text('[data-name="network.latency"] output').startswith("2.4 ms")


def test_axes_stay_linear_while_a_slider_moves(page):
    page.check('[name="axes"]')
    page.wait_for_selector('#panel-predict svg text:text-is("0")')
    page.focus('[name="x.network.latency"]')
    page.keyboard.press("ArrowRight")
    page.wait_for_selector('#panel-predict .same:has-text("network.latency")')
    assert page.locator('#panel-predict svg text:text-is("0")').count()
    assert "axes=linear" in page.url


def test_an_amount_that_is_set_can_be_reset_by_keyboard(page):
    page.fill('[name="set.network.latency"]', "1 ms")
    page.focus('[name="x.network.latency"]')
    page.keyboard.press("ArrowRight")
    page.wait_for_selector('#panel-predict .same:has-text("network.latency")')
    assert page.locator(".reset:visible").count() == 1
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector('#panel-predict .same:not(:has-text("network.latency"))')
    assert page.locator(".reset:visible").count() == 0
    assert page.input_value('[name="set.network.latency"]') == ""
    assert "network.latency" not in page.url
    assert page.locator('[name="x.network.latency"]:focus').count() == 1


def test_fields_answer_when_they_are_left_and_a_refusal_keeps_the_page(page):
    page.fill("#field-p", "1,2,4")
    page.keyboard.press("Tab")
    page.wait_for_selector("#panel-predict tbody tr:first-child:nth-last-child(3)")
    page.fill("#field-p", "0")
    page.keyboard.press("Tab")
    page.wait_for_selector("#panel-predict .refusal")
    assert "-p" in page.inner_text("#panel-predict .refusal")
    page.fill("#field-p", "")
    page.keyboard.press("Tab")
    page.wait_for_selector("#panel-predict svg")


def test_a_file_can_be_added_used_alone_and_removed(page):
    content = TIMES.encode()
    page.set_input_files("#files", {"name": "own.csv", "mimeType": "text/csv", "buffer": content})
    page.wait_for_selector('input[value="own.csv"]')
    answered(page)
    for name in ("program.toml", "sp2.toml", "times.csv"):
        page.uncheck(f'.files input[value="{name}"]')
        page.wait_for_load_state()
    page.wait_for_selector("#panel-forecast svg")
    assert "own.csv" in page.inner_text("#panel-forecast h2")
    page.click('button[aria-label="Remove own.csv"]')
    page.wait_for_selector("#panel-predict svg")


def test_values_of_points_are_shown_in_answers_that_come_later(page):
    page.focus("#panel-explain .scroll")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#panel-explain figcaption") != ""


def test_without_scripts_the_form_answers(chromium, served):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(served.address)
    page.fill("#field-p", "1,2,4")
    page.fill('[name="set.network.latency"]', "1 ms")
    page.click(".ask button")
    page.wait_for_selector("#panel-predict tbody tr:first-child:nth-last-child(3)")
    assert "network.latency=1 ms" in page.inner_text("#panel-predict .same")
    page.click("#panel-plan a")
    page.wait_for_selector("#panel-plan svg")
    assert "network.latency=1 ms" in page.inner_text("#panel-plan .same")
    page.click('[data-name="network.latency"] .reset')
    page.wait_for_selector('#panel-plan .same:not(:has-text("network.latency"))')
    assert page.input_value("#field-p") == "1,2,4"
    context.close()


def test_the_page_has_no_violation_that_axe_finds(page):
    assert violations(page) == []
    page.set_viewport_size({"width": 360, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
