"""Costs of the requests of one layout: of messages and files on its ranks, and of dry runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from parcast.arrays.measuring.figure import Figure
from parcast.arrays.measuring.interpreting import figures_of
from parcast.arrays.measuring.launches import launch
from parcast.arrays.measuring.result import MeasuredCosts
from parcast.arrays.validating.predicting import Measured
from parcast.arrays.validating.request import ArrayRequest, Layout
from parcast.mpi.find import available_cores

ROUNDS: Final = 3  # of each measurement, after one that is discarded
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
    """Measures the costs of one layout after the other; those of files for each count of servers.

    No request is run for it.
    """

    rounds: int = ROUNDS
    files: dict[int, Sequence[Figure]] = field(default_factory=dict)  # by servers

    def __call__(
        self, requests: Mapping[int, ArrayRequest], *, layout: Layout, folder: Path
    ) -> dict[int, Measured]:
        """Measure the costs of requests of one layout, by their places."""
        is_new = layout.servers not in self.files
        observed = launch(
            str(folder) if is_new else None,
            clients=layout.clients,
            servers=layout.servers,
            rounds=self.rounds,
        )
        figures = figures_of(observed)
        if is_new:
            self.files[layout.servers] = [x for x in figures if not _is_of_messages(x)]
        messages = [x for x in figures if _is_of_messages(x)]
        found = MeasuredCosts(
            name="",
            clients=layout.clients,
            servers=layout.servers,
            folder=str(folder),
            figures=(*messages, *self.files[layout.servers]),
            cores=len(available_cores()),
        )
        sources = {figure.key: figure.method for figure in found.figures}
        sources |= dict.fromkeys(COMPUTED, DRY)
        return {
            place: Measured(found.costs_for(request.for_costs()), sources)
            for place, request in requests.items()
        }


def _is_of_messages(figure: Figure) -> bool:
    """Tell a cost of messages from one of files."""
    key = figure.key.rpartition(".")[2]
    return figure.key.startswith("messages.") or key in MESSAGES
