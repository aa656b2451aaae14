"""Every reader reads what is valid, and reads or refuses whatever else it is given.

What it must not do: raise an error that is none of parcast's, take more than 10 s or 1 GB, or
print characters that control a terminal. `make fuzz` looks for more such documents for as long as
one likes; here are a few hundred of each reader, always the same, and all that failed once.
"""

from itertools import cycle
from random import Random

import pytest

from tests.fuzzing.attempts import MEMORY, SECONDS, attempt
from tests.fuzzing.findings import saved
from tests.fuzzing.known import KNOWN
from tests.fuzzing.mutations import mutated
from tests.fuzzing.readers import READERS

DOCUMENTS = 6  # of each reader
MUTANTS = {False: 6, True: 2}  # of each document of a fast reader, and of a slow one
LARGEST = 10_000  # bytes of a changed document
SUBJECT = "Files that are read"
BOUNDS = f"at most {SECONDS:.0f} s, and {MEMORY // 10**9} GB beyond the size of the file"
FINDINGS = saved()
QUICK = [  # the same everywhere
    name for name, reader in READERS.items() if not (reader.library or reader.is_call)
]
MADE = [name for name, reader in READERS.items() if reader.is_call]
CALLS = 4  # of each function


@pytest.fixture(scope="module")
def drawn():
    """Valid documents of each reader, drawn once."""
    return {
        name: reader.drawn(DOCUMENTS, start=0) for name, reader in READERS.items() if name in QUICK
    }


def outcome(name, content, folder):
    """What becomes of a document that a reader is given."""
    path = folder / READERS[name].file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return attempt(READERS[name].read, path)


@pytest.mark.fault(SUBJECT, "Valid documents of a format.", promise="They are read; status 0.")
@pytest.mark.parametrize("name", QUICK)
@pytest.mark.usefixtures("uncovered")
def test_a_valid_document_is_read(drawn, name, tmp_path):
    outcomes = [outcome(name, document, tmp_path) for document in drawn[name]]
    assert [(x.kind, x.detail) for x in outcomes if x.kind != "read"] == []


CHANGED = [
    pytest.param(
        name,
        marks=pytest.mark.fault(
            SUBJECT,
            "A valid document with changed bytes, numbers, words, lines, structure or nesting.",
            promise="It is read, or refused with status 2, 3 or 4 and a message without control "
            f"characters; {BOUNDS}.",
        ),
    )
    for name in QUICK
]


@pytest.mark.parametrize("name", CHANGED)
@pytest.mark.usefixtures("uncovered")
def test_a_changed_document_is_read_or_refused(drawn, name, tmp_path):
    bad = {}
    for i, document in zip(range(DOCUMENTS), cycle(drawn[name])):
        for mutant in range(MUTANTS[READERS[name].is_slow]):
            content = mutated(document, Random(f"{name} {i} {mutant}"), largest=LARGEST)
            found = outcome(name, content, tmp_path)
            if found.is_bad:
                bad[f"{found.kind} {found.detail}"] = content[:200]
    assert bad == {}


@pytest.mark.fault(
    "Arguments within their limits",
    "Random arguments of match, fit, predict, best_processors, plan_io, plan_pipeline and "
    "explain_pipeline, and amounts at the edges of what a float holds.",
    promise="An answer, or a refusal that says what to do; values within their intervals; no "
    "answer worse with more ranks, servers, rates or time, but for a least efficiency, which "
    f"compares to one rank; at most {SECONDS:.0f} s and {MEMORY // 10**9} GB.",
)
@pytest.mark.parametrize("name", MADE)
@pytest.mark.usefixtures("uncovered")
def test_a_call_within_the_limits_is_answered_or_refused(name, tmp_path):
    bad = {}
    for content in READERS[name].drawn(CALLS, start=0):
        found = outcome(name, content, tmp_path)
        if found.is_bad:
            bad[f"{found.kind} {found.detail}"] = content
    assert bad == {}


@pytest.mark.fault(
    SUBJECT,
    "A file at which an earlier version hung, ran out of memory, crashed or gave a wrong reason.",
    promise=f"It is read or refused; {BOUNDS}.",
)
@pytest.mark.parametrize("which", KNOWN)
@pytest.mark.usefixtures("uncovered")
def test_what_is_known_to_have_failed_is_read_or_refused(which, tmp_path):
    known = KNOWN[which]
    if known.reader not in READERS:
        pytest.skip(f"the library that {known.reader} needs is not installed")
    found = outcome(known.reader, known.make(), tmp_path)
    assert not found.is_bad, (found, known.guards)


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda x: f"{x.reader}-{x.path.stem}")
@pytest.mark.usefixtures("uncovered")
def test_what_fuzzing_found_is_read_or_refused(finding, tmp_path):
    if finding.reader not in READERS:
        pytest.skip(f"the library that {finding.reader} needs is not installed")
    assert not outcome(finding.reader, finding.content, tmp_path).is_bad
