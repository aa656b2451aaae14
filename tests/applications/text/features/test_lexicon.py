"""The lexicon against a plain dictionary, its merges in every tree, its parts, its buffers."""

import pickle
from collections import defaultdict
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.applications.text.features.lexicon import (
    Lexicon,
    Occurrence,
    merge,
    merged,
    split,
    zero,
)
from parcast.errors import ParameterError

phrases = st.sampled_from(
    ["rain", "fine rain", "größe", "z", "日本", "\U0001f600 face", "\ufffd", "a b"]
)
rows = st.lists(st.tuples(phrases, st.integers(0, 99), st.integers(1, 9)), max_size=6)
contents = st.lists(
    st.dictionaries(st.sampled_from(["title", "body"]), rows, max_size=2), max_size=7
)


def lexicon_of(number, content, **options):
    """Lexicon of a document of a file, two documents a file."""
    key = (f"file{number // 2}.txt", number % 2 + 1, f"name{number}")
    fields = {f: sorted({(p, s, s + n) for p, s, n in rows}) for f, rows in content.items()}
    return Lexicon.of_document(key, fields, tokens=number, **options)


def expected(contents):
    """Occurrences of each phrase, as a dictionary counts them."""
    found = defaultdict(list)
    for number, content in enumerate(contents):
        for field, rows in content.items():
            for phrase, start, length in set(rows):
                found[phrase].append(
                    Occurrence(
                        f"file{number // 2}.txt",
                        number % 2 + 1,
                        f"name{number}",
                        field,
                        start,
                        start + length,
                    )
                )
    order = {phrase: phrase.encode() for phrase in found}
    return {
        phrase: sorted(found[phrase], key=lambda x: (x[:3], x.start, x.stop, x.field))
        for phrase in sorted(found, key=order.__getitem__)
    }


def same_bytes(a, b):
    """Compare what would travel or be written."""
    assert (a == b) == (b == a)
    return a == b and pickle.dumps(a, protocol=5) == pickle.dumps(b, protocol=5)


@given(contents)
def test_it_has_what_a_dictionary_has(contents):
    lexicon = merged(lexicon_of(i, content) for i, content in enumerate(contents))
    want = expected(contents)
    assert lexicon.phrases() == list(want)
    assert lexicon.counts.tolist() == [len(places) for places in want.values()]
    for phrase, places in want.items():
        assert lexicon.occurrences(phrase) == places
    assert lexicon.totals.documents == len(contents)
    assert lexicon.totals.tokens == sum(range(len(contents)))


@given(contents, st.data())
def test_every_tree_of_merges_gives_the_same_bytes(contents, data):
    leaves = [lexicon_of(i, content) for i, content in enumerate(contents)]
    in_order = reduce(merge, leaves, zero())
    some = list(leaves)
    while len(some) > 1:  # any two, in any order: documents need not be neighbours
        i, j = data.draw(st.permutations(range(len(some))))[:2]
        pair = merge(some[i], some[j])
        some = [x for k, x in enumerate(some) if k not in (i, j)] + [pair]
    (other,) = some or [zero()]
    assert same_bytes(in_order, other)
    assert same_bytes(in_order, merged(leaves))


@given(contents, st.integers(1, 4))
def test_splitting_and_merging_commute(contents, count):
    leaves = [lexicon_of(i, content) for i, content in enumerate(contents)]
    whole = merged(leaves)
    parts = split(whole, count)
    assert len(parts) == count
    assert all(part.encoded() == sorted(part.encoded()) for part in parts)
    assert same_bytes(merged(parts), whole)
    by_part = zip(*(split(leaf, count) for leaf in leaves), strict=True) if leaves else []
    for part, reduced in zip(parts, map(merged, by_part), strict=bool(leaves)):
        assert same_bytes(part, reduced)


@given(contents)
def test_frequencies_only(contents):
    plain = merged(lexicon_of(i, x, with_places=False) for i, x in enumerate(contents))
    full = merged(lexicon_of(i, x) for i, x in enumerate(contents))
    assert plain.places is None
    assert plain.phrases() == full.phrases()
    assert plain.counts.tolist() == full.counts.tolist()
    assert plain.occurrences("rain") == []
    assert plain.nbytes <= full.nbytes


def test_rare_phrases_are_left_out_at_the_end():
    first = lexicon_of(0, {"body": [("rain", 0, 4), ("rain", 9, 4), ("fog", 5, 3)]})
    second = lexicon_of(2, {"body": [("fog", 0, 3), ("rain", 4, 4), ("ice", 9, 3)]})
    both = merge(first, second)
    often = both.at_least(2)
    assert dict(zip(often.phrases(), often.counts.tolist(), strict=True)) == {"fog": 2, "rain": 3}
    assert often.occurrences("rain") == both.occurrences("rain")
    assert often.at_least(3).phrases() == ["rain"]
    assert len(often.at_least(99)) == 0
    assert often.totals.documents == 2
    with pytest.raises(ParameterError, match="frequency must be a whole number of at least 1"):
        both.at_least(0)


def test_it_travels_as_buffers():
    lexicon = lexicon_of(0, {"body": [(f"word {i}", i, 3) for i in range(10_000)]})
    buffers = []
    head = pickle.dumps(lexicon, protocol=5, buffer_callback=buffers.append)
    assert len(head) < 2000
    assert sum(len(buffer.raw()) for buffer in buffers) == lexicon.nbytes - 200  # of the name
    again = pickle.loads(head, buffers=buffers)
    assert same_bytes(again, lexicon)
    assert lexicon.nbytes < 10_000 * (9 + 16 + 14 + 1)


def test_offsets_beyond_four_gigabytes_are_kept():
    far = 5 * 2**30
    first = lexicon_of(0, {"body": [("rain", far, 4)]})
    near = lexicon_of(1, {"body": [("rain", 7, 4)]})
    both = merge(near, first)
    assert [x.start for x in both.occurrences("rain")] == [far, 7]
    assert same_bytes(both, merge(first, near))


def test_a_lone_surrogate_does_not_stop_it():
    lexicon = Lexicon.of_document(("a", 1, "a"), {"body": [("bad \ud800 text", 0, 10)]})
    assert lexicon.phrases() == ["bad ? text"]
