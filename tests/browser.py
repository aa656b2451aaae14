"""A browser without a window, Debian's Chromium: pages as a person has them."""

import shutil
from contextlib import contextmanager

import pytest

FOUND = shutil.which("chromium") or shutil.which("chromium-browser")
needs_browser = pytest.mark.skipif(FOUND is None, reason="there is no Chromium here")


@pytest.fixture(scope="session")
def chromium():
    """The browser; each test opens pages of its own in it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=FOUND, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(chromium, address, *, width=1400):
    """Open a page that notes what it says on the console, and what it asks for."""
    context = chromium.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(address)
    try:
        yield page
    finally:
        context.close()


def violations(page):
    """What axe finds that keeps people from using a page."""
    from axe_core_python.sync_playwright import Axe

    found = Axe().run(page)["violations"]
    return [(x["id"], x["nodes"][0]["html"][:200]) for x in found]
