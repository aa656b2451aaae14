"""Fuzz all readers for as long as one likes: `python -m tests.fuzzing.run --minutes 30`.

Calls of functions are readers too: `--reader call-match --cases 2000` makes so many of one.

Whatever fails is made small and kept in `corpus/`, where `make test` reads it again. The status is
1 if something failed.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from random import Random
from time import monotonic

import click

from tests.fuzzing.attempts import BAD, Outcome
from tests.fuzzing.children import Children
from tests.fuzzing.findings import Finding, minimised
from tests.fuzzing.mutations import mutated
from tests.fuzzing.readers import ABSENT, READERS, Reader

DOCUMENTS = 20  # that are drawn at a time
MUTANTS = 25  # of each
TURN = 2.0  # of a reader, before it is another's [s]
MEGABYTE = 10**6


@dataclass
class Account:
    """What became of the cases of a reader."""

    kinds: Counter[str] = field(default_factory=Counter)
    busy: float = 0.0  # [s]
    slowest: float = 0.0  # [s]
    largest: int = 0  # [B]

    def take(self, outcome: Outcome) -> None:
        self.kinds[outcome.kind] += 1
        self.busy += outcome.seconds
        self.slowest = max(self.slowest, outcome.seconds)
        self.largest = max(self.largest, outcome.memory)


def cases(reader: Reader, start: int) -> Iterator[tuple[str, bytes]]:
    """Documents of a reader without end, each with the seed that makes it again."""
    while True:
        for i, document in enumerate(reader.drawn(DOCUMENTS, start=start)):
            yield f"{start}/{i}", document
            for mutant in range(0 if reader.is_call else MUTANTS):
                seed = f"{start}/{i}/{mutant}"
                yield seed, mutated(document, Random(f"{reader.name} {seed}"))
        start += 1


@click.command()
@click.option("--minutes", default=30.0, show_default=True, help="How long to go on.")
@click.option("--cases", "most", type=int, help="Of each reader at most; by default no limit.")
@click.option("--seed", default=0, show_default=True, help="Where to start.")
@click.option("--reader", "names", multiple=True, help="This reader only. Repeatable.")
@click.option("--save/--no-save", default=True, help="Whether to keep what fails in corpus/.")
@click.pass_context
def main(
    ctx: click.Context,
    /,
    *,
    minutes: float,
    most: int | None,
    seed: int,
    names: tuple[str, ...],
    save: bool,
) -> None:
    """Fuzz the readers one after the other, some seconds each, again and again."""
    wanted = {name: READERS[name] for name in names or READERS}
    accounts = {name: Account() for name in wanted}
    waiting = {name: islice(cases(reader, 1000 * seed), most) for name, reader in wanted.items()}
    found: dict[Path, Finding] = {}
    began = monotonic()
    with tempfile.TemporaryDirectory(prefix="parcast-fuzz-") as folder:
        children = Children(Path(folder))
        try:
            while waiting and monotonic() < began + 60 * minutes:
                for name in [*waiting]:
                    end = min(monotonic() + TURN, began + 60 * minutes)
                    while monotonic() < end:
                        label, content = next(waiting[name], ("", None))
                        if content is None:
                            del waiting[name]
                            break
                        outcome = children.attempt(name, content)
                        accounts[name].take(outcome)
                        if outcome.is_bad:
                            finding = found_by(name, outcome, label, content)
                            if finding.path not in found:
                                small = made_small(finding, children)
                                found[finding.path] = small
                                if save:
                                    small.save()
        except KeyboardInterrupt:
            click.echo("interrupted.", err=True)
        finally:
            children.close()
    click.echo(summary(accounts, monotonic() - began))
    for path, finding in found.items():
        click.echo(f"{finding.kind:9}  {finding.reader}: {finding.detail}\n           {path}")
    ctx.exit(1 if found else 0)


def found_by(name: str, outcome: Outcome, label: str, content: bytes) -> Finding:
    kind, detail = outcome.kind, outcome.detail
    return Finding(reader=name, kind=kind, detail=detail, seed=label, content=content)


def made_small(finding: Finding, children: Children) -> Finding:
    """Leave out of a document what it does not need to fail as it does, and say what it is."""

    def fails(shorter: bytes) -> bool:
        again = children.attempt(finding.reader, shorter)
        return (again.kind, again.detail) == (finding.kind, finding.detail)

    if fails(finding.content):
        finding = replace(finding, content=minimised(finding.content, fails))
    size = len(finding.content)
    click.echo(f"{finding.kind}: {finding.reader}: {finding.detail} ({size:,} bytes)", err=True)
    return finding


def summary(accounts: dict[str, Account], seconds: float) -> str:
    """Lay out what became of all cases."""
    head = ("reader", "cases", "read", "refused", "per s", *BAD, "slowest s", "largest MB")
    rows = [head]
    for name, account in sorted(accounts.items()):
        count, kinds = account.kinds.total(), account.kinds
        rows.append(
            (
                name,
                f"{count:,}",
                f"{kinds['read']:,}",
                f"{kinds['refused']:,}",
                f"{count / account.busy:,.0f}" if account.busy else "-",
                *(f"{kinds[kind]:,}" for kind in BAD),
                f"{account.slowest:.2f}",
                f"{account.largest / MEGABYTE:.0f}",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    text = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    total = sum(account.kinds.total() for account in accounts.values())
    failed = sum(account.kinds[kind] for account in accounts.values() for kind in BAD)
    text.append(f"{total:,} cases in {seconds / 60:.1f} minutes, {failed} failed.")
    if ABSENT:
        text.append(f"Without the libraries that read them: {', '.join(ABSENT)}.")
    return "\n".join(text)


if __name__ == "__main__":
    main()
