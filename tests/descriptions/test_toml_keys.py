"""`parcast.descriptions.toml_files`: lines of keys, and bounds that are checked before parsing."""

import tomllib

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from parcast.descriptions import description, toml_files
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import (
    MOST_KEYS,
    MOST_LEVELS,
    MOST_TABLES,
    lines_of_keys,
    read_machine,
)
from parcast.errors import FileProblems, ParameterError
from parcast.files.faults import MOST_COLLECTED, MOST_LISTED, Faults

keys = st.text("ab. -=[]{},#\"'\\\n\u00e9", min_size=0, max_size=4)
texts = st.text("ab=[]{},#\"'\\\n\t", max_size=6)
plain = st.integers() | st.booleans() | st.floats(allow_nan=False) | texts
values = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=12,
)


def places_in(value, place=()):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*place, key)
            yield from places_in(inner, (*place, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            if isinstance(inner, dict):
                yield (*place, i)
            yield from places_in(inner, (*place, i))


def lines_in(text):
    return lines_of_keys(text, Faults("x.toml"))


@given(st.dictionaries(keys, values, max_size=4))
def test_every_key_that_is_parsed_has_a_line(document):
    text = tomlkit.dumps(document)
    found = lines_in(text)
    places = set(places_in(tomllib.loads(text)))
    around = {place[:stop] for place in places for stop in range(1, len(place))}
    assert set(found) == places | around
    assert all(1 <= line <= text.count("\n") + 1 for line in found.values())


def test_the_lines_are_those_on_which_the_keys_stand():
    text = '''\
# title = "none"
name = """a
= [b]
"""
network.latency = "1 us"  # x = 1
[compute . "a.b"]
rate = { from = ["a", {b = 1}],
  }
[[phase]]
law = 'x'
[[phase.count]]
p = 1
[[phase.count]]
p = 2
[[phase]]
list = [
  { deep = [ [1, { key = 2 }] ] },
]
[phase.io]
"kind\\n" = "async"
'''
    assert lines_in(text) == {
        ("name",): 2,
        ("network",): 5,
        ("network", "latency"): 5,
        ("compute",): 6,
        ("compute", "a.b"): 6,
        ("compute", "a.b", "rate"): 7,
        ("compute", "a.b", "rate", "from"): 7,
        ("compute", "a.b", "rate", "from", 1): 7,
        ("compute", "a.b", "rate", "from", 1, "b"): 7,
        ("phase",): 9,
        ("phase", 0): 9,
        ("phase", 0, "law"): 10,
        ("phase", 0, "count"): 11,
        ("phase", 0, "count", 0): 11,
        ("phase", 0, "count", 0, "p"): 12,
        ("phase", 0, "count", 1): 13,
        ("phase", 0, "count", 1, "p"): 14,
        ("phase", 1): 15,
        ("phase", 1, "list"): 16,
        ("phase", 1, "list", 0): 17,
        ("phase", 1, "list", 0, "deep"): 17,
        ("phase", 1, "list", 0, "deep", 0): 17,
        ("phase", 1, "list", 0, "deep", 0, 1): 17,
        ("phase", 1, "list", 0, "deep", 0, 1, "key"): 17,
        ("phase", 1, "io"): 19,
        ("phase", 1, "io", "kind\n"): 20,
    }


def test_prose_is_told_to_be_no_toml(file):
    path = file(f"{'word ' * 100}. See below.\n" * 3, "readme.toml")
    with pytest.raises(FileProblems, match="must be valid TOML"):
        read_machine(path)


TOO_MUCH = {
    "a dotted key of 400,000 parts": ("a." * 400_000 + "a = 1", MOST_LEVELS, "levels"),
    "a quoted key of 100,000 parts": ('"a".' * 100_000 + "a = 1", MOST_LEVELS, "levels"),
    "a header of 400,000 parts": (f"[{'a.' * 400_000}a]", MOST_LEVELS, "levels"),
    "lists in lists": ("a = " + "[" * 5000, MOST_LEVELS, "levels"),
    "tables in tables": ("a = " + "{a = " * 5000, MOST_LEVELS, "levels"),
    "keys in tables": (f"[{'.'.join('a' * 20)}]\n{'.'.join('a' * 20)} = 1", MOST_LEVELS, "levels"),
    "40,000 phases": ('[[phase]]\nlaw = "spmd"\n' * 40_000, MOST_TABLES, "tables"),
    "tables in a list": (f"phase = [{'{},' * 40_000}]", MOST_TABLES, "tables"),
    "keys": ("".join(f"k{i} = 1\n" for i in range(80_000)), MOST_KEYS, "keys"),
}


@pytest.mark.parametrize("case", TOO_MUCH)
def test_what_is_beyond_the_bounds_is_refused_before_it_is_parsed(case, file, monkeypatch):
    def parse(_):
        raise AssertionError("it was parsed")

    text, most, what = TOO_MUCH[case]
    monkeypatch.setattr(toml_files.tomllib, "loads", parse)
    path = file(text[:1_000_000], "x.toml")
    with pytest.raises(FileProblems) as refused:
        read_machine(path)
    [problem] = refused.value.problems
    assert problem.message == f"must have at most {most:,} {what}, got more. Write a simpler " + (
        "description."
    )
    assert problem.line


def test_of_20_000_unknown_keys_only_the_first_are_put_into_words(file, monkeypatch):
    compared = []
    nearest = description.difflib.get_close_matches

    def counted(*args, **options):
        compared.append(args)
        return nearest(*args, **options)

    monkeypatch.setattr(description.difflib, "get_close_matches", counted)
    path = file("".join(f"key{i} = 1\n" for i in range(19_999)), "machine.toml")
    with pytest.raises(FileProblems) as refused:
        read_machine(path)
    lines = str(refused.value).splitlines()
    assert lines[0] == f"{path}: 19999 problems"
    assert lines[-1] == f"  and {19_999 - MOST_LISTED} more."
    assert len(lines) == MOST_LISTED + 2
    assert len(compared) == MOST_COLLECTED
    assert [x.line for x in refused.value.problems] == list(range(1, MOST_LISTED + 1))


def test_a_description_built_in_python_counts_its_faults_as_well():
    phases = [{"law": "spmd", f"x{i}": 1} for i in range(150)]
    with pytest.raises(ParameterError) as refused:
        Program(phase=phases)
    lines = str(refused.value).splitlines()
    assert lines[0] == "Program: 150 problems"
    assert lines[-1] == "  and 50 more."
    assert len(lines) == MOST_COLLECTED + 2
