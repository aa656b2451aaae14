"""What coverage measures: modules as they are loaded, tests and fixtures, but not what runs them.

Tracing makes all Python code of a process two to three times as slow, that of pytest, Hypothesis
and SciPy too. So it is on only where the package is loaded and where a test or a fixture runs, and
there not

- in tests that repeat what others cover: with the fixture `uncovered`, and those of `REPEATING`;
- after the first examples of a property, as more of them hardly reach other lines.

Programs that a test starts are measured where the test is, and only there.
"""

import functools
import importlib
import itertools
import os
import pkgutil
import sys
import threading

import pytest

import parcast

EXAMPLES = 10  # of a property that are measured
REPEATING = ("docs/", "examples/", "README.md", "tests/docs/", "tests/examples/")
PROGRAMS = "COVERAGE_PROCESS_CONFIG"  # in their environment: what coverage measures of them
RUN_WHEN_LOADED = (".__main__", ".mpi.tied")


def is_measured(item):
    """Tell whether coverage measures a test."""
    names = getattr(item, "fixturenames", ())
    return "uncovered" not in names and not item.nodeid.startswith(REPEATING)


class Measurement:
    """Hooks of pytest that switch the tracing of this process, which coverage has begun."""

    def __init__(self):
        self.tracers = sys.gettrace(), threading.gettrace()

    def switch(self, on):
        """Trace from now on, or no more, in threads begun from now on as well."""
        own, others = self.tracers if on else (None, None)
        sys.settrace(own)
        threading.settrace(others)

    def pytest_collection(self):
        for module in pkgutil.walk_packages(parcast.__path__, "parcast."):
            if not module.name.endswith(RUN_WHEN_LOADED):
                importlib.import_module(module.name)
        self.switch(False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        programs = os.environ.get(PROGRAMS)
        if not is_measured(item):
            os.environ.pop(PROGRAMS, None)
        try:
            return (yield)
        finally:
            if programs is not None:
                os.environ[PROGRAMS] = programs

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_fixture_setup(self, request):
        self.switch(is_measured(request.node))
        try:
            return (yield)
        finally:
            self.switch(False)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item):
        given = getattr(getattr(item, "obj", None), "hypothesis", None)
        if given is not None and is_measured(item):
            test, given.inner_test = given.inner_test, self.measured_at_first(given.inner_test)
            try:
                return (yield)
            finally:
                given.inner_test = test
        self.switch(is_measured(item))
        try:
            return (yield)
        finally:
            self.switch(False)

    def measured_at_first(self, test):
        """Give a property of which the first examples are measured."""
        examples = itertools.count()

        @functools.wraps(test)
        def run(*args, **keys):
            if next(examples) >= EXAMPLES:
                return test(*args, **keys)
            self.switch(True)
            try:
                return test(*args, **keys)
            finally:
                self.switch(False)

        return run
