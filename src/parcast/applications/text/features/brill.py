"""E. Brill's rule-based tagger, with the word list and the rules that TextBlob ships.

Three files of the installed package `textblob` are read: tags of 94,000 words, rules that guess
the tag of an unknown word from its form, and rules that change a tag by its context. TextBlob
itself is not imported: that takes 0.6 s (it loads NLTK). The rules for context are applied as they
were learnt [1]_, each to the whole sentence before the next one. TextBlob tries all of them on one
token before the next token, always on the tag from the word list, so that the last one that fits
wins; its tags are worse.

References
----------
.. [1] E. Brill, "A simple rule-based part of speech tagger," in Proc. Third Conference on Applied
   Natural Language Processing, 1992, pp. 152-155, :doi:`10.3115/974499.974526`.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from parcast.errors import RunFailed

NUMBER = re.compile(r"^[0-9\-\,\.\:\/\%\$]+$")
AROUND = 3  # tokens that a rule looks at on each side
EDGE = "STAART"  # as the rules spell what lies outside the sentence
Atom = tuple[int, bool, str]  # distance, whether of the word (else the tag), what it must be

# What each kind of rule asks for, x and y being its arguments: alternatives of conditions, each
# a distance, w(ord) or t(ag), and which argument.
KINDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "prevtag": (("-1tx",),),
    "nexttag": (("+1tx",),),
    "prev2tag": (("-2tx",),),
    "next2tag": (("+2tx",),),
    "prev1or2tag": (("-1tx",), ("-2tx",)),
    "next1or2tag": (("+1tx",), ("+2tx",)),
    "prev1or2or3tag": (("-1tx",), ("-2tx",), ("-3tx",)),
    "next1or2or3tag": (("+1tx",), ("+2tx",), ("+3tx",)),
    "surroundtag": (("-1tx", "+1ty"),),
    "curwd": (("+0wx",),),
    "prevwd": (("-1wx",),),
    "nextwd": (("+1wx",),),
    "prev1or2wd": (("-1wx",), ("-2wx",)),
    "next1or2wd": (("+1wx",), ("+2wx",)),
    "prevwdtag": (("-1wx", "-1ty"),),
    "nextwdtag": (("+1wx", "+1ty"),),
    "wdprevtag": (("+0wy", "-1tx"),),
    "wdnexttag": (("+0wx", "+1ty"),),
    "wdand2aft": (("+0wx", "+2wy"),),
    "wdand2tagbfr": (("+0wy", "-2tx"),),
    "wdand2tagaft": (("+0wx", "+2ty"),),
    "lbigram": (("+0wy", "-1wx"),),
    "rbigram": (("+0wx", "+1wy"),),
    "prevbigram": (("-2tx", "-1ty"),),
    "nextbigram": (("+1tx", "+2ty"),),
}
Rule = tuple[str, str, tuple[tuple[Atom, ...], ...]]  # old tag, new tag, alternatives


@dataclass(frozen=True, slots=True)
class ContextRules:
    """Rules that change a tag by its context, in the order in which they were learnt."""

    rules: list[Rule]
    words: frozenset[str]  # that any rule looks at
    by_tag: dict[str, tuple[int, ...]]  # numbers of the rules that change a tag

    @classmethod
    def read(cls, lines: Sequence[list[str]], tags: set[str]) -> "ContextRules":
        """Take rules such as `NN VB PREVTAG TO` apart; `*` stands for every tag."""
        rules: list[Rule] = []
        by_tag: dict[str, list[int]] = {tag: [] for tag in tags}
        for old, new, kind, x, *rest in lines:
            y = rest[0] if rest else ""
            alternatives = tuple(
                tuple((int(at[:2]), at[2] == "w", x if at[3] == "x" else y) for at in atoms)
                for atoms in KINDS.get(kind.lower(), ())
            )
            for tag in tags if old == "*" else (old,):
                by_tag.setdefault(tag, []).append(len(rules))
            rules.append((old, new, alternatives))
        words = {x for _, _, each in rules for atoms in each for _, of_word, x in atoms if of_word}
        numbers = {tag: tuple(each) for tag, each in by_tag.items()}
        return cls(rules, frozenset(words), numbers)

    def apply(self, words: Sequence[str], tags: list[str], locked: Sequence[bool]) -> list[str]:
        """Change the tags of a sentence that are not locked: rule after rule, left to right."""
        pad = [EDGE] * AROUND
        around = [*pad, *tags, *pad]
        known = [*pad, *words, *pad]
        free = [i for i, is_locked in enumerate(locked, start=AROUND) if not is_locked]
        waiting = {number for i in free for number in self.by_tag.get(around[i], ())}
        queue = sorted(waiting)
        while queue:
            number = queue.pop(0)
            old, new, alternatives = self.rules[number]
            added = False
            for i in free:
                if around[i] != old and old != "*":
                    continue
                for atoms in alternatives:
                    for distance, of_word, value in atoms:
                        if (known if of_word else around)[i + distance] != value:
                            break
                    else:
                        around[i] = new
                        added = True
                        break
            if added:  # the new tag has rules of its own, of which those still to come count
                fresh = {n for n in self.by_tag.get(new, ()) if n > number} - waiting
                if fresh:
                    waiting |= fresh
                    queue = sorted({*queue, *fresh})
        return around[AROUND:-AROUND]


Test = Callable[[str, str, dict[str, str]], bool]
FORMS: dict[str, Test] = {  # word, argument, word list
    "char": lambda word, x, _: x in word,
    "haspref": lambda word, x, _: word.startswith(x),
    "hassuf": lambda word, x, _: word.endswith(x),
    "addpref": lambda word, x, lexicon: x + word in lexicon,
    "addsuf": lambda word, x, lexicon: word + x in lexicon,
    "deletepref": lambda word, x, lexicon: word.startswith(x) and word[len(x) :] in lexicon,
    "deletesuf": lambda word, x, lexicon: word.endswith(x) and word[: -len(x)] in lexicon,
}


@dataclass(slots=True)
class WordRules:
    """Rules for unknown words; those that look at neighbours are few, and are tried by word."""

    rules: list[tuple[str, str, str, str]] = field(default_factory=list)  # old, kind, x, new
    kept: dict[tuple[str, str, str], str] = field(default_factory=dict)  # answers given before
    neighbours: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, lines: Sequence[list[str]]) -> "WordRules":
        """Take rules such as `NN s fhassuf 1 NNS x` and `ly hassuf 2 RB x` apart."""
        rules = cls()
        for line in lines:
            is_bound = line[2].lstrip("f") in FORMS or line[2].startswith("fgood")
            old, x, kind = line[:3] if is_bound else ("", *line[:2])
            kind = kind.removeprefix("f")
            rules.rules.append((old, kind, x, line[-2]))
            if kind.startswith("good"):
                rules.neighbours.add(x)
        return rules

    def tag(self, word: str, before: str, after: str, lexicon: dict[str, str]) -> str:
        """Tag of a word that the list lacks, by its form and its two neighbours."""
        before = before if before in self.neighbours else ""
        after = after if after in self.neighbours else ""
        key = (word, before, after)
        tag = self.kept.get(key)
        if tag is None:
            tag = "NN"
            for old, kind, x, new in self.rules:
                if old and tag != old:
                    continue
                if kind == "goodleft":
                    holds = x == after
                elif kind == "goodright":
                    holds = x == before
                else:
                    holds = FORMS[kind](word, x, lexicon)
                if holds:
                    tag = new
            if len(self.kept) < MOST_KEPT:
                self.kept[key] = tag
        return tag


MOST_KEPT = 100_000  # answers for unknown words: some 15 MB


@dataclass(frozen=True, slots=True)
class Brill:
    """The word list and both kinds of rules."""

    lexicon: dict[str, str]
    unknown: WordRules
    context: ContextRules

    @classmethod
    def load(cls) -> "Brill":
        """Read the files of the installed TextBlob."""
        spec = find_spec("textblob")
        if spec is None or not spec.submodule_search_locations:
            raise RunFailed(
                "The tagger textblob requires the package textblob, which is not installed. "
                'Install it with: pip install "parcast[features]"'
            )
        folder = Path(spec.submodule_search_locations[0]) / "en"
        lexicon = dict(line[:2] for line in _lines(folder / "en-lexicon.txt"))
        context = list(_lines(folder / "en-context.txt"))
        tags = {*lexicon.values(), *(tag for line in context for tag in line[:2]), *TAGS}
        rules = ContextRules.read(context, tags)
        return cls(lexicon, WordRules.read(list(_lines(folder / "en-morphology.txt"))), rules)

    def first_tags(self, words: Sequence[str]) -> list[str]:
        """Tags of the words of a sentence before any rule looks at their context."""
        lexicon, tags = self.lexicon, []
        last = len(words) - 1
        for i, word in enumerate(words):
            tag = lexicon.get(word) or (lexicon.get(word.lower()) if i == 0 else None)
            if tag is None:
                if word.istitle():
                    tag = "NNP"
                elif NUMBER.match(word):
                    tag = "CD"
                else:
                    before = words[i - 1] if i else ""
                    after = words[i + 1] if i < last else ""
                    tag = self.unknown.tag(word, before, after, lexicon)
            tags.append(tag)
        return tags


TAGS = ("NN", "NNP", "CD")  # given to words without looking them up


def _lines(path: Path) -> Iterator[list[str]]:
    """Fields of the lines of one of TextBlob's files that are not comments."""
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            fields = line.lstrip("\ufeff").split()
            if fields and not fields[0].startswith(";;;"):
                yield fields
