"""`parcast plan search`: ranks for indexing and searching documents, from a sample of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import click

from parcast.cli.answering import A_FILE, Whole, cli_command
from parcast.cli.options import (
    COUNTS,
    all_option,
    amount,
    answer_options,
    option,
    within_option,
)
from parcast.cli.outputs import Outputs, with_inputs
from parcast.deciding.plans import OwnPlan, decide, decided
from parcast.words import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from parcast.aliases import Array
    from parcast.applications.text.search.resources import SearchFigures
    from parcast.applications.text.search.sample import Sampled

HELP: Final = """Choose ranks for indexing and searching documents, from a sample of them.

SAMPLE are files, folders or patterns of documents like those to come, 16 files or more. They are
indexed as by `parcast run features` and searched as by `parcast run search` here on one core, in
some ten seconds for 100 kB. Prints the time of each phase for each number of ranks, the memory of
rank 0, which holds the whole index, and the bytes sent. With --within the fewest ranks that surely
end in time are recommended, else those of nearly the least time.

\b
Exit status: 0  answered
             1  answered, and the answer is no: nothing meets the limits
             2  wrong use, or an output that cannot be written
             3  a document cannot be read
             4  no answer is possible: the sample is too small

\b
Examples:
  parcast plan search sample --documents 1000000 --within 2h
  parcast plan search 'mail/2024-0[1-3]*' --documents 50000 --queries 100 --ranks 1..64x2 --json
"""
CLOSE: Final = 0.05  # of the least time, by which fewer ranks may take longer [1]
LAW: Final = 0.9  # half-width of the 90% interval of the law's own error [1] [D]: on two busy
# cores, hyperthreads of one, real runs took 0.7 to 2.0 times what was predicted


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchRanks:
    """Numbers of ranks for a search, and what each takes."""

    sampled: "Sampled"
    figures: "SearchFigures"
    cost: "Array"  # ranks [1]
    documents: int  # [1]
    queries: int  # [1]
    within: float | None  # [s]
    memory: float | None  # most of a rank [B]
    asked: str = "ranks"

    @property
    def title(self) -> str:
        """Say what is planned."""
        asked = f" and {counted(self.queries, 'query')}" if self.queries else ""
        return f"Index of {counted(self.documents, 'document')}{asked}"

    @property
    def close(self) -> float:
        """Share of the least time; with a limit of time the fewest ranks that meet it."""
        return float("inf") if self.within is not None else CLOSE

    @property
    def time(self) -> "Array":
        """Time of all phases. [s]."""
        return self.figures.time

    @cached_property
    def _half(self) -> "Array":
        """Half-width of the 90% interval over the time [1]."""
        import numpy as np

        total = np.full(self.time.shape, LAW**2)
        for phase, spread in self.sampled.spreads.items():
            total = total + (getattr(self.figures, phase) / self.time * spread) ** 2
        return np.asarray(np.sqrt(total))

    @property
    def lower(self) -> "Array":
        """Lower end of the 90% interval. [s]."""
        return self.time / (1 + self._half)

    @property
    def upper(self) -> "Array":
        """Upper end of it. [s]."""
        return self.time * (1 + self._half)

    @property
    def fits(self) -> "NDArray[np.bool_]":
        """Whether each surely ends in time, in the memory of a rank."""
        import numpy as np

        ok = self.upper <= (self.within or float("inf"))
        return np.asarray(ok & (self.figures.memory <= (self.memory or float("inf"))))

    @property
    def columns(self) -> Mapping[str, Sequence[str]]:
        """Times of the phases, and what is used."""
        from parcast.units import format_quantity

        found = self.figures
        times = {x: getattr(found, x) for x in ("extract", "merge", "write", "query")}
        return {
            **{
                name: [format_quantity(x, "time", 2) for x in values.tolist()]
                for name, values in times.items()
            },
            "memory": [format_quantity(x, "size", 2) for x in found.memory.tolist()],
            "sent": [format_quantity(x, "size", 2) for x in found.sent.tolist()],
            "limited by": found.limiting(),
        }

    @property
    def remedies(self) -> list[str]:
        """Say what would have to change."""
        from parcast.units import format_quantity

        least = format_quantity(float(self.upper.min()), "time", 2)
        return [
            f"Within {least} some number of these ranks surely ends; each needs "
            f"{format_quantity(float(self.figures.memory.min()), 'size', 2)} of memory. Allow "
            "more, or more ranks."
        ]

    def reasons(self, chosen: int) -> list[str]:
        """Say what the recommended ranks take, and what that is based on."""
        from parcast.units import format_quantity

        figures, costs = self.figures, self.sampled.costs
        text = self.documents * costs.document
        said = [
            f"{figures.limiting()[chosen]} takes longest of its phases",
            f"the index has {float(costs.phrases(text)):,.0f} phrases in "
            f"{format_quantity(float(costs.index(text)), 'size', 3)} of memory, all on rank 0, "
            f"and {format_quantity(float(figures.disk[chosen]), 'size', 3)} as a file",
            f"Heaps' law with the exponent {costs.growth:.2f}, from a sample of "
            f"{self.sampled.documents:,} documents, "
            f"{format_quantity(self.sampled.text, 'size', 3)}",
        ]
        if self.queries:
            rate = self.queries / float(figures.query[chosen])
            said.insert(1, f"{rate:.3g} queries/s, asked all together")
        return said


def searches(
    *,
    sample: Sequence[str],
    documents: int,
    ranks: Sequence[int],
    queries: int = 1,
    bandwidth: float | None = None,
    within: float | None = None,
    memory: float | None = None,
) -> SearchRanks:
    """Measure a sample, and give what each number of ranks takes."""
    import numpy as np

    from parcast.applications.text.search.resources import search_figures
    from parcast.applications.text.search.sample import sampled
    from parcast.pipeline.paths import document_paths

    measured = sampled(document_paths(sample))
    counts = np.array(sorted(ranks), dtype=np.float64)
    figures = search_figures(
        measured.costs, counts, documents=documents, queries=queries, bandwidth=bandwidth
    )
    return SearchRanks(
        sampled=measured,
        figures=figures,
        cost=counts,
        documents=documents,
        queries=queries,
        within=within,
        memory=memory,
    )


PLAN: Final = OwnPlan(
    summary="Ranks, memory and disk of indexing and searching documents.", alternatives=searches
)


@cli_command(name="search", help=HELP, short_help=PLAN.summary)
@click.argument("sample", metavar="SAMPLE...", nargs=-1, required=True, type=A_FILE)
@option("--documents", Whole(1), "Documents to index.", required=True)
@option("--ranks", COUNTS, "Numbers of ranks: 1..64x2.", default="1..64x2")
@option("--queries", Whole(0), "Queries that are asked together.", default=1)
@option("--bandwidth", amount("RATE", "rate", "1GB/s"), "Between two ranks.  [default: unlimited]")
@option("--memory", amount("SIZE", "size", "4GB"), "Most memory of a rank.")
@within_option
@all_option
@answer_options()
def command(
    ctx: click.Context,  # noqa: ARG001 - of every command
    /,
    *,
    outputs: Outputs,
    show_all: bool,
    **options: Any,
) -> int:
    """Answer the question and return the exit status."""
    outputs.check(options["sample"])
    ranks = options.pop("ranks")
    result = decided("search", PLAN, {**options, "ranks": ranks.values})
    result = with_inputs(result, options={**options, "ranks": ranks.text})
    return decide(outputs, result, is_found=result.chosen is not None, show_all=show_all)
