"""Costs of the requests of one layout: of messages and files on its ranks, and of dry runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from parcast.arrays.measuring.figure import Figure
from parcast.arrays.measuring.interpreting import figures_of
from parcast.arrays.measuring.launches import Observed, launch
from parcast.arrays.measuring.result import MeasuredCosts
from parcast.arrays.validating.predicting import Measured
from parcast.arrays.validating.request import ArrayRequest, Layout
from parcast.mpi.find import available_cores
from parcast.testbed.testbed import in_words, testbed_here

ROUNDS: Final = 3  # of each measurement at a time, after one that is discarded
TIMES: Final = 2  # that files are measured for each count of servers
MESSAGES: Final = ("send_startup", "receive_startup", "bandwidth")
DRY: Final = "dry run of this request"
COMPUTED: Final = (  # costs that a dry run gives
    *("clients.construct_schema", "clients.decode", "clients.copy_rate", "clients.place_rate"),
    *("servers.parse_schema", "servers.find", "servers.boundary", "servers.copy_rate"),
    *("servers.place_rate", "servers.compression_rate"),
    *("messages.schema_length", "messages.request_length", "messages.quit_length"),
)


@dataclass(kw_only=True, slots=True)
class Measuring:
    """Measures messages on every layout, and files on a few of each count of servers.

    Files are thus measured at different times: what disturbs one does not decide. No request is
    run for it.
    """

    rounds: int = ROUNDS
    messages: dict[Layout, Sequence[Figure]] = field(default_factory=dict)
    files: dict[int, list[Observed]] = field(default_factory=dict)  # by servers

    def measure(self, layout: Layout, folder: Path) -> None:
        """Measure on the ranks of a layout."""
        known = self.files.setdefault(layout.servers, [])
        observed = launch(
            str(folder) if len(known) < TIMES else None,
            clients=layout.clients,
            servers=layout.servers,
            rounds=self.rounds,
        )
        self.messages[layout] = [x for x in figures_of(observed) if _is_of_messages(x)]
        if observed.files:
            known.append(observed)

    def costs(self, requests: Mapping[int, ArrayRequest], layout: Layout) -> dict[int, Measured]:
        """Give the costs of requests of a layout that was measured, by their places."""
        of_files = figures_of(_pooled(self.files[layout.servers]))
        found = MeasuredCosts(
            name="",
            clients=layout.clients,
            servers=layout.servers,
            folder="",
            figures=(
                *self.messages[layout],
                *(x for x in of_files if not _is_of_messages(x)),
            ),
            cores=len(available_cores()),
            place=_capped_hosts(),
        )
        sources = {figure.key: figure.method for figure in found.figures}
        sources |= dict.fromkeys(COMPUTED, DRY)
        return {
            place: Measured(found.costs_for(request.for_costs()), sources)
            for place, request in requests.items()
        }


def _pooled(every: Sequence[Observed]) -> Observed:
    """Join what was measured of files at different times, where they were of one size."""
    first = every[0]
    same = [x for x in every if [kind for kind, _ in x.files] == [kind for kind, _ in first.files]]
    return replace(
        first,
        files=[
            (kind, [access for x in same for access in x.files[i][1]])
            for i, (kind, _) in enumerate(first.files)
        ],
        turns=[turn for x in same for turn in x.turns],
    )


def _capped_hosts() -> str:
    """Name a testbed whose ranks have a share of a core each; "" where they share cores."""
    bed = testbed_here()
    return "" if bed is None or bed.cap is None else in_words(bed)


def _is_of_messages(figure: Figure) -> bool:
    """Tell a cost of messages from one of files."""
    key = figure.key.rpartition(".")[2]
    return figure.key.startswith("messages.") or key in MESSAGES
