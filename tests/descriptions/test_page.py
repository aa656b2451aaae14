"""The reference of machine and program files, and of laws, says what their JSON Schemas say.

PARCAST_REWRITE=1 writes its tables anew.
"""

import json
import os
import re
import tomllib
from pathlib import Path

import pytest

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program, laws, own_parameters
from parcast.laws.counting import SteadyStatePhase
from parcast.laws.curve_phases import CurvePhase
from parcast.pipeline.law.phase import PipelinePhase
from parcast.units import EXPECTED

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGE = REFERENCE / "descriptions.md"
FAMILIES = {
    "laws.md": CurvePhase,
    "steady-state.md": SteadyStatePhase,
    "pipeline.md": PipelinePhase,
}
TABLE = re.compile(r"(<!-- keys of (?P<what>\w+) -->\n)(.*?)(\n<!-- end -->)", re.DOTALL)
REWRITE = bool(os.environ.get("PARCAST_REWRITE"))


def keys_of(schema, definitions, place=""):
    """Give every key of a schema with its table, and what the schema says of it."""
    for name, key in schema["properties"].items():
        first = key.get("anyOf", [key])[0]
        if "$ref" in first and name != "fit":  # the page describes it apart
            inner = definitions[first["$ref"].rpartition("/")[2]]
            yield from keys_of(inner, definitions, f"{place}{name}.")
        else:
            yield f"{place}{name}", key


def value_of(key, name):
    """Say what a key may be; amounts are explained in the pages of units and descriptions."""
    kinds = [kind for kind in key.get("anyOf", [key]) if kind.get("type") != "null"]
    return " or ".join(one_value(kind, name) for kind in kinds)


def one_value(kind, name):
    if "$ref" in kind:
        return "a table" if kind["$ref"].endswith("/FitRecord") else "tables"
    if kind.get("type") == "array" and isinstance(kind["items"].get("type"), list):
        return f"a list such as `{json.dumps(kind['items']['examples'])}`"
    if "enum" in kind:
        return ", ".join(f'`"{x}"`' for x in kind["enum"])
    if "const" in kind:
        return f'`"{kind["const"]}"`'
    if isinstance(kind.get("type"), list):
        said = kind.get("description", "").partition(";")[0]
        is_plain = all(str(x).isdigit() for x in kind.get("examples", []))
        usual = "a plain number" if is_plain else "a number with a unit"
        return said if said.startswith("a") else usual
    return {
        "boolean": "true or false",
        "string": "text",
        "integer": f"a whole number from {kind.get('minimum')}",
        "number": "a plain number",
        "array": f"tables `[[{name}]]`",
    }[kind["type"]]


def default_of(key):
    default = key.get("default")
    if default in (None, "", []):
        return ""
    if isinstance(default, bool):
        return f"`{default}`".lower()
    return f"`{default}`" if str(default).isdigit() else f'`"{default}"`'


def table_of(schema):
    """A row for each key; keys that hold and mean the same have one row."""
    rows = {}
    for name, key in keys_of(schema, schema.get("$defs", {})):
        cells = f"{value_of(key, name)} | {default_of(key)} | {key['description']}"
        rows.setdefault(cells, []).append(f"`{name}`")
    lines = ["| key | holds | default | means |", "| --- | --- | --- | --- |"]
    lines += [f"| {', '.join(names)} | {cells} |" for cells, names in rows.items()]
    return "\n".join(lines)


def schemas():
    program = Program.model_json_schema()
    spmd = program["$defs"]["SpmdPhase"] | {"$defs": program["$defs"]}
    array_io = {"properties": {"io": {"$ref": "#/$defs/ArrayIO"}}, "$defs": program["$defs"]}
    return {
        "array_io": array_io,
        "machine": Machine.model_json_schema(),
        "program": program,
        "spmd": spmd,
    }


def test_the_tables_are_those_of_the_schema():
    tables = {what: table_of(schema) for what, schema in schemas().items()}
    text = PAGE.read_text(encoding="utf-8")
    expected = TABLE.sub(lambda found: f"{found[1]}\n{tables[found['what']]}\n{found[4]}", text)
    assert {found["what"] for found in TABLE.finditer(text)} == set(tables)
    if REWRITE:
        PAGE.write_text(expected, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == expected


def held(mark):
    """What an amount may be."""
    return " or ".join(EXPECTED[x][0] for x in mark.dimensions)


def table_of_laws(family):
    """The keys that each law of a family has for itself; the same key of several has one row."""
    rows = {}
    members = {law: kind for law, kind in laws().items() if issubclass(kind, family)}
    for law, kind in members.items():
        keys = kind.model_json_schema()["properties"]
        for name, mark in own_parameters(kind).items():
            holds = held(mark) if mark else value_of(keys[name], name)
            means = f"{default_of(keys[name])} | {keys[name]['description']}"
            cells = f"`{name}` | {holds} | {means}"
            rows.setdefault(cells, []).append(f"`{law}`")
    lines = ["| key | holds | default | means |", "| --- | --- | --- | --- |"]
    if len(members) == 1:
        return "\n".join([*lines, *(f"| {cells} |" for cells in rows)])
    lines = ["| law " + lines[0], "| --- " + lines[1]]
    lines += [f"| {', '.join(names)} | {cells} |" for cells, names in rows.items()]
    return "\n".join(lines)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_keys_of_each_law_are_those_it_declares(name):
    page = REFERENCE / name
    table = table_of_laws(FAMILIES[name])
    expected, count = TABLE.subn(
        lambda found: f"{found[1]}\n{table}\n{found[4]}", page.read_text(encoding="utf-8")
    )
    assert count == 1
    if REWRITE:
        page.write_text(expected, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == expected


@pytest.mark.parametrize(("kind", "which"), [(Machine, 0), (Program, 1)])
def test_the_examples_on_the_page_can_be_read(kind, which):
    blocks = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert kind(**tomllib.loads(blocks[which])).parameters()
