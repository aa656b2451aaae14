"""A browser without a window, Debian's Chromium: what a page is once its scripts have run."""

import shutil
import subprocess

import pytest

FOUND = shutil.which("chromium") or shutil.which("chromium-browser")
needs_browser = pytest.mark.skipif(FOUND is None, reason="there is no Chromium here")


def opened(page, width=1200):
    """Open a page; give its elements after its scripts have run, and what the console said."""
    command = [FOUND, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    command += [f"--window-size={width},900", "--virtual-time-budget=10000", "--dump-dom"]
    done = subprocess.run(
        [*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, said
