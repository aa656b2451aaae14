"""No regular expression of parcast takes long for a text that somebody else wrote.

The patterns are found in the source by themselves: every call of `re` is evaluated where it
stands. What is made of local names is caught when `RUNS` makes it; a new one must be added there.
"""

import ast
import importlib
import re
import re._constants as codes
import re._parser as parser
import sys
from functools import cache, partial

import pytest

from tests.growth import grows
from tests.test_architecture import MODULES, imports_of, nodes_of, tree_of

CALLS = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "finditer", "findall"}
RUNS = {  # code that makes the patterns of a function, run in its module
    "parcast.calibration.benchmarks.ior.Trouble.add": "Trouble().add('no warning')",
    "parcast.timings.tables.cells._plain_number": "[_plain_number('1,234', d) for d in '.,']",
    "parcast.descriptions.toml_files._walk": "_walk(['p = 1'], ['p'])",
    "parcast.expressions._Translation.prepared": (
        "[Expression(x, dimension=y) for x, y in (('1 s', 'time'), ('5%', 'fraction'))]"
    ),
    "parcast.forecasting.picture._parts": "[_parts('main->solve', ends) for ends in ENDS]",
    "parcast.importers.counts._before": "[_before.__wrapped__(words) for words in KINDS.values()]",
    "parcast.importers.counts._after": "[_after.__wrapped__(words) for words in KINDS.values()]",
    "parcast.timings.tables.durations._following": "[_following(x) for x in UNITS.values()]",
    "parcast.timings.tables.durations._bracketed": "[_bracketed(x) for x in UNITS.values()]",
    "parcast.importers.hyperfine._template": (
        "_template({'command': 'solve -n 8', 'parameters': {'n': '8'}})"
    ),
    "parcast.mpi.find._described": "_described.__wrapped__('/bin/true')",
    "parcast.applications.text.documents.boundaries.Elements.__init__": (
        "[Elements('doc', nested=x) for x in (False, True)]"
    ),
    "parcast.applications.text.documents.markup.MarkupReader.name": (
        "[MarkupReader('sgml', None, None).name(x) for x in ('<doc id=7>', '<doc><docno>7')]"
    ),
    "parcast.applications.text.documents.markup._tokens": "[_tokens(format) for format in _NAME]",
    "parcast.units._loosely": "_loosely('Mbytes per sec')",
}
LEFT_OUT = {
    "parcast.timings.tables.durations._is_divided": (
        "is one character or class of the user's own pattern, asked of one character"
    ),
    "parcast.timings.tables.durations.compiled": (
        "is the user's own pattern for a log, asked of LONGEST characters of a line at most"
    ),
    "parcast.applications.text.features.phrases.Grammar.of": (
        "is the user's own grammar, asked LONGEST tokens at a time (tests/applications/text)"
    ),
}
LAST = "stray"  # a group of this name is the last match that anybody asks for
PUMPS = [*"9aA \n\t.,:;-_=+/\\|<>()[]{}\"'#%&!?~*^@xé\u0661", "9.", "9e", "a ", "a=", "->"]
TAIL = "\n\0"  # what hardly any pattern can end with
SMALL = (4, 8, 16, 64, 256, 1024, 4096)  # repetitions
MOST_SMALL = 4096  # characters
BOUNDED = 24  # times as long for four times as much of those: {0,256} is quadratic up to there
LARGE = (1562, 6250, 25_000, 100_000)  # characters
WORST = 3  # of the texts for a pattern, which is made large


def functions(tree, name=""):
    """Each node of a module with the dotted name of the function that it stands in."""
    for child in ast.iter_child_nodes(tree):
        scopes = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        inner = f"{name}.{child.name}" if isinstance(child, scopes) else name
        yield inner, child
        yield from functions(child, inner)


def calls_of_re():
    """Every call of `re`, with its module and the function that it stands in."""
    for module, path in MODULES.items():
        if re.search(r"^\s*import re\b", path.read_text(encoding="utf-8"), re.MULTILINE):
            for function, node in functions(tree_of(path), module):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and ast.unparse(node.func.value) == "re"
                    and node.func.attr in CALLS
                ):
                    yield module, function, node


def evaluated(module, node):
    """Pattern of a call, compiled; NameError where it is made of local names."""
    names = {"re": re} | vars(importlib.import_module(module))
    flags = [x.value for x in node.keywords if x.arg == "flags"]
    if node.func.attr in ("compile", "match", "fullmatch", "search", "findall", "finditer"):
        flags += node.args[1 if node.func.attr == "compile" else 2 :]
    given = [eval(ast.unparse(x), names) for x in (node.args[0], *flags)]
    return re.compile(*given)


def caught(module, code, monkeypatch):
    met = []

    def spied(function, pattern, *args, flags=0, **others):
        frame = sys._getframe(1)
        if frame.f_code.co_filename == str(MODULES[module]):
            place = 0 if function is compiled else 1  # among the others, where they stand
            is_put = args[place:] and not function.__name__.startswith(("sub", "split"))
            met.append((frame.f_lineno, compiled(pattern, args[place] if is_put else flags)))
        return function(pattern, *args, **({"flags": flags} if flags else {}), **others)

    compiled = re.compile
    names = vars(importlib.import_module(module))
    with monkeypatch.context() as patch:
        for name in CALLS:
            patch.setattr(re, name, partial(spied, getattr(re, name)))
        eval(code, names)
    return met


def uses(module, node):
    """How a pattern that is compiled for later is asked, wherever its name is imported."""
    targets = {
        ast.unparse(target).rpartition(".")[2]
        for outer in nodes_of(MODULES[module])
        if isinstance(outer, ast.Assign | ast.AnnAssign)
        and outer.lineno <= node.lineno <= outer.end_lineno
        for target in (outer.targets if isinstance(outer, ast.Assign) else [outer.target])
    }
    near = [x for x, path in MODULES.items() if x == module or module in imports_of(path)]
    found = {how for other in near for name, how in methods_in(other) if name in targets}
    return found or {"finditer"}


@cache
def methods_in(module):
    """What is asked of anything in a module that may be a pattern, with its name."""
    return {
        (ast.unparse(node.func.value).rpartition(".")[2], node.func.attr)
        for node in nodes_of(MODULES[module])
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in CALLS
    }


def asked(pattern, how):
    if how == "finditer":

        def every(text):
            for match in pattern.finditer(text):
                if match.lastgroup == LAST:
                    break

        return every
    if how in ("sub", "subn"):
        return partial(pattern.sub, type(pattern.pattern)())
    return getattr(pattern, how)


def one_of(items):
    code, value = items[0]
    if code is codes.NEGATE:
        return next(x for x in 'a <"9=\n\xe9' if not any(holds(y, x) for y in items[1:]))
    known = (x for x in "9a _\n.-/" if holds(items[0], x))
    return next(known, "") or chr(value[0] if code is codes.RANGE else value)


def holds(item, character):
    """Tell whether a part of a class holds a character."""
    code, value = item
    if code is codes.LITERAL:
        return chr(value) == character
    if code is codes.RANGE:
        return value[0] <= ord(character) <= value[1]
    classes = {
        codes.CATEGORY_DIGIT: r"\d",
        codes.CATEGORY_NOT_DIGIT: r"\D",
        codes.CATEGORY_SPACE: r"\s",
        codes.CATEGORY_NOT_SPACE: r"\S",
        codes.CATEGORY_WORD: r"\w",
        codes.CATEGORY_NOT_WORD: r"\W",
    }
    return re.fullmatch(classes[value], character) is not None


REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def sampled(tree, before, pumps):
    """A short text that a pattern matches; each of its repetitions is added to `pumps`.

    A pump is what stands before, and what is repeated there.
    """
    text = ""
    for code, value in tree:
        if code is codes.LITERAL:
            text += chr(value)
        elif code is codes.NOT_LITERAL:
            text += "a" if chr(value) != "a" else "b"
        elif code is codes.ANY:
            text += "a"
        elif code is codes.IN:
            text += one_of(value)
        elif code in REPEATS:
            once = sampled(value[2], before + text, pumps)
            pumps.add((before + text, once))
            text += once * max(value[0], 1)
        elif code is codes.BRANCH:
            first, *_ = [sampled(branch, before + text, pumps) for branch in value[1]]
            text += first
        elif code is codes.SUBPATTERN:
            text += sampled(value[-1], before + text, pumps)
        elif code is codes.ATOMIC_GROUP:
            text += sampled(value, before + text, pumps)
    if text:
        pumps.add(("", before + text))
    return text


def classes(tree):
    """Every character and class of characters that a pattern tells from others."""
    for code, value in tree:
        if code in (codes.LITERAL, codes.NOT_LITERAL):
            yield codes.LITERAL, value
        elif code is codes.IN:
            yield from (x for x in value if x[0] is not codes.NEGATE)
        elif code in REPEATS:
            yield from classes(value[2])
        elif code is codes.BRANCH:
            yield from (x for branch in value[1] for x in classes(branch))
        elif code in (codes.SUBPATTERN, codes.ASSERT, codes.ASSERT_NOT):
            yield from classes(value[-1])
        elif code is codes.ATOMIC_GROUP:
            yield from classes(value)


def told_apart(tree):
    """Pumps of which a pattern takes no two for the same."""
    items = {*classes(tree), (codes.CATEGORY, codes.CATEGORY_WORD)}
    cases = {x: {x, x.lower(), x.upper()} if len(x) == 1 else x for x in PUMPS}
    alike = {
        x if len(x) > 1 else (x == "\n", *(any(holds(y, z) for z in cases[x]) for y in items)): x
        for x in PUMPS
    }
    return alike.values()


def attacks(pattern):
    """What is put first and what is repeated, to make a pattern try again and again."""
    is_text = isinstance(pattern.pattern, str)
    written = pattern.pattern if is_text else pattern.pattern.decode("latin-1")
    tree = parser.parse(written, pattern.flags & ~re.UNICODE)
    pumps = {("", x) for x in told_apart(tree)}
    whole = sampled(tree, "", pumps)
    pumps |= {(whole, x) for x in " a9"}
    return sorted((x, y) for x, y in pumps if y)


def texts_of(attack, sizes, *, is_text):
    """Adversarial texts, by how often each repeats what is repeated."""
    first, pump = attack
    texts = {size: first + pump * size + TAIL for size in sizes}
    return texts if is_text else {x: y.encode("utf-8", "replace") for x, y in texts.items()}


def too_slow(pattern, how, large=LARGE):
    """Say for which texts the time of a pattern grows faster than their length."""
    ask, is_text = asked(pattern, how), isinstance(pattern.pattern, str)
    times = []
    for attack in attacks(pattern):
        sizes = [x for x in SMALL if x * len(attack[1]) <= MOST_SMALL]
        texts = texts_of(attack, sizes, is_text=is_text)
        grown, taken = grows(lambda size, texts=texts: ask(texts[size]), sizes, most=BOUNDED)
        if grown:
            return f"{attack}: {grown}"
        times.append((taken, attack))
    for _, attack in sorted(times)[-WORST:]:
        sizes = [x // len(attack[1]) for x in large]
        texts = texts_of(attack, sizes, is_text=is_text)
        grown, _ = grows(lambda size, texts=texts: ask(texts[size]), sizes)
        if grown:
            return f"{attack}: {grown}"
    return ""


@pytest.fixture(scope="module")
def patterns():
    """Every pattern of the project, and how it is asked, with where it is made."""
    made = {}
    with pytest.MonkeyPatch.context() as monkeypatch:
        for module, function, node in calls_of_re():
            place = f"{module}, line {node.lineno}"
            if function in LEFT_OUT:
                continue
            try:
                found = [evaluated(module, node)]
            except NameError:
                assert function in RUNS, f"{place}: add code to RUNS that makes this pattern"
                lines = range(node.lineno, node.end_lineno + 1)
                met = caught(module, RUNS[function], monkeypatch)
                found = [pattern for line, pattern in met if line in lines]
                assert found, f"{place}: the code in RUNS does not make this pattern"
            how = uses(module, node) if node.func.attr == "compile" else {node.func.attr}
            for pattern in found:
                made.setdefault((pattern, frozenset(how)), place)
    return made


def test_every_pattern_is_found(patterns):
    written = {pattern.pattern for pattern, _ in patterns}
    assert len(written) > 100
    assert any("[0-9]++" in str(pattern) for pattern in written)


@pytest.mark.usefixtures("uncovered")
def test_no_pattern_takes_longer_than_its_text_grows(patterns):
    slow = {
        f"{place}: {pattern.pattern!r}.{way}": grown
        for (pattern, how), place in patterns.items()
        for way in how
        if (grown := too_slow(pattern, way))
    }
    assert slow == {}


@pytest.mark.parametrize(
    ("pattern", "way"),
    [
        (r"(?:a+)+b", "match"),  # exponential
        (r"[0-9]+\.?[0-9]*[a-z]", "fullmatch"),  # quadratic, as numbers once were
        (r"\s+\(", "search"),  # quadratic, as each blank begins it anew
        (r"<!--.*?-->", "finditer"),
        (r"(?:<!--.*?-->)*<html", "match"),
        (r"[^{}]*\"path\":[^{}]*time", "match"),
    ],
)
def test_a_pattern_that_backtracks_is_noticed(pattern, way):
    # one disturbed time may hide that it grows (as one never makes a pattern look slow)
    sizes = (390, 1562, 6250, 25_000)
    looks = (too_slow(re.compile(pattern), way, large=sizes) for _ in range(3))
    assert any(looks)
