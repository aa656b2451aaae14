"""`import parcast`: every public name is there, and nothing is loaded before it is asked for."""

import importlib
import inspect
import re
import subprocess
import sys

import pytest

import parcast
from parcast.show.result import Result


def fresh(code):
    """Run `code` in a Python that has loaded nothing of parcast."""
    run = [sys.executable, "-c", code]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("name", parcast.__all__)
def test_each_public_name_is_what_its_module_has(name):
    value = getattr(parcast, name)
    assert value.__name__ == name
    assert getattr(importlib.import_module(value.__module__), name) is value
    assert value.__doc__


def test_a_name_is_loaded_when_it_is_asked_for_and_then_kept():
    code = (
        "import parcast, sys; print('parcast.errors' in sys.modules);"
        "parcast.FitFailed; print('parcast.errors' in sys.modules);"
        "print('FitFailed' in vars(parcast), 'numpy' in sys.modules)"
    )
    assert fresh(code) == ["False", "True", "True", "False"]


def test_a_name_that_is_not_there_is_said_to_be_missing():
    with pytest.raises(AttributeError) as caught:
        parcast.forcast  # noqa: B018 - asking for it is the test
    assert str(caught.value) == "module 'parcast' has no attribute 'forcast'"
    assert not hasattr(parcast, "_HOMES")


def test_forecast_is_the_function_even_when_its_module_was_loaded_first():
    code = (
        "import parcast.forecasting.forecast, parcast.cli, parcast;"
        "print(callable(parcast.forecast), callable(parcast.Measurements))"
    )
    assert fresh(code) == ["True", "True"]


def test_signatures_name_types_as_their_author_did():
    for name in parcast.__all__:
        signature = str(inspect.signature(getattr(parcast, name)))
        assert "numpy._typing" not in signature, name
        assert "dtype[" not in signature, name
        assert "Annotated" not in signature, name
        assert "collections.abc" not in signature, name


def test_the_signature_of_a_description_shows_its_keys_and_their_defaults():
    signature = str(inspect.signature(parcast.Machine)).replace("'", "")
    assert "name: str = a machine, source: str = , processors: int | None = None" in signature
    assert "compute: Compute = Compute()" in signature
    assert "Ellipsis" not in signature


FUNCTIONS = [name for name in parcast.__all__ if inspect.isfunction(getattr(parcast, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_describes_its_parameters_and_has_an_example(name):
    function = getattr(parcast, name)
    described = inspect.getdoc(function)
    assert "\nExamples\n--------\n" in described
    assert "\nParameters\n----------\n" in described
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"^(\w+, )*\**{parameter}(, \w+)* ?(:|$)", described, re.MULTILINE)


def test_no_default_in_a_signature_is_the_address_of_an_object():
    for name in FUNCTIONS:
        assert " at 0x" not in str(inspect.signature(getattr(parcast, name)))


def test_every_answer_of_a_public_function_is_a_public_class():
    for name in FUNCTIONS:
        for word in re.findall(
            r"\w+", str(inspect.signature(getattr(parcast, name)).return_annotation)
        ):
            home = sys.modules[getattr(parcast, name).__module__]
            answer = getattr(home, word, None)
            if isinstance(answer, type) and issubclass(answer, Result):
                assert word in parcast.__all__, (name, word)


RESULTS = [
    name
    for name in parcast.__all__
    if isinstance(getattr(parcast, name), type) and issubclass(getattr(parcast, name), Result)
]


@pytest.mark.parametrize("name", RESULTS)
def test_dir_of_a_result_hides_what_is_parcasts_own(name):
    answer = getattr(parcast, name)
    listed = dir(answer)
    assert {"rows", "save", "to_document", "__init__", *inspect.get_annotations(answer)} - {
        "_axes", "_below",
        "_outline", "_row", "_said", "_schema", "_sheet", "_picture", "_never_filled",
        *listed,
    } == set()  # fmt: skip
    assert not [name for name in listed if name.startswith("_") and not name.startswith("__")]


def test_dir_of_an_answer_has_plot_only_where_it_has_a_picture():
    simulation = parcast.explain_pipeline(2)
    assert "plot" in dir(simulation)
    result = parcast.run_pipeline(range(3), abs, "sum")
    listed = dir(result)
    assert {"value", "rows", "save", "seconds"} <= set(listed)
    assert "plot" not in listed
    assert not [name for name in listed if name.startswith("_") and not name.startswith("__")]
