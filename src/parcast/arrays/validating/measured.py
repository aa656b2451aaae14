"""Stand-in: costs as constants."""

from parcast.arrays.costs import ClientCosts, Costs, ServerCosts
from parcast.arrays.messages import Protocol
from parcast.arrays.validating.predicting import Measured


def measured_costs(requests, *, layout, folder):
    costs = Costs(
        clients=ClientCosts(
            send_startup=2e-4,
            receive_startup=2e-4,
            bandwidth=2e9,
            construct_schema=1e-3,
            decode=1e-4,
            copy_rate=2e9,
        ),
        servers=ServerCosts(
            send_startup=2e-4,
            receive_startup=2e-4,
            bandwidth=2e9,
            parse_schema=1e-3,
            find=2e-4,
            boundary=5e-5,
            write_rate=6e8,
            read_rate=1e9,
            cache_rate=1.5e9,
            open_file=1e-3,
            synchronise=0.02,
        ),
        protocol=Protocol(
            schema_length=1000, request_length=300, quit_length=300, packet=1e9, eager_limit=1
        ),
    )
    return {i: Measured(costs, {}) for i in requests}
