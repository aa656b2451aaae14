"""`parcast testbed`: virtual hosts with slow links, and a command that runs on them."""

from typing import Literal

import click

from parcast.cli.answering import Answering, Whole
from parcast.cli.failures import in_options, own_options
from parcast.cli.options import flag, option
from parcast.cli.screen import tell

HELP = """Run COMMAND on virtual hosts with slow links, processors and disks.

Passes on the output and the exit status of COMMAND. An mpiexec of MPICH in COMMAND starts one rank
on each host. Processes, TCP connections and files are real. Requires Linux and root; the hosts are
removed at the end.

\b
Exit status: that of COMMAND, or
             2    wrong use
             4    the testbed cannot be made on this machine
             130  interrupted

\b
Examples:
  parcast testbed --hosts 4 -- mpiexec -n 4 python -m mpi4py program.py
  parcast testbed --hosts 8 --link 10Mbit --bus -- parcast calibrate -np 8
"""


@click.command(
    name="testbed",
    cls=Answering,
    help=HELP,
    context_settings={"allow_interspersed_args": False},
)
@click.argument("words", metavar="-- COMMAND...", nargs=-1, type=click.UNPROCESSED)
@option("--hosts", Whole(), "Number of hosts, 1 to 16.", default=4, metavar="N")
@option(
    "--link",
    "RATE",
    "Bandwidth of each host in each direction, with --bus of all together; or none.",
    default="100Mbit",
)
@flag("--bus", "Connect the hosts by one shared medium instead of a switch.")
@option("--latency", "TIME", "Additional latency of each packet: 50us.", default="0 s")
@option(
    "--cpu",
    "SHARE",
    "Share of a core for each host: 5%, or none; auto is 10%, less for many hosts.",
    default="auto",
)
@option("--disk", "RATE", "Disk bandwidth of each host: 10MB/s.", default="none")
def command(
    *,
    words: tuple[str, ...],
    hosts: int,
    link: str,
    bus: bool,
    latency: str,
    cpu: str,
    disk: str,
) -> int:
    """Run COMMAND on a testbed and return its status."""
    from parcast.errors import ParameterError, RunFailed
    from parcast.testbed.testbed import Testbed, in_words
    from parcast.units import quantity

    if not words:
        raise click.UsageError("COMMAND is missing. Write it last, after --.")
    try:
        testbed = Testbed(
            hosts=hosts,
            link=_rate(link, "link"),
            bus=bus,
            latency=quantity(latency, "time", name="latency"),
            cpu=_share(cpu),
            disk=_rate(disk, "disk"),
        )
        testbed.require_means(words)
        tell(in_words(testbed))
        return testbed.attend(words)
    except ParameterError as error:
        raise click.UsageError(in_options(error, own_options())) from error
    except RunFailed as error:
        raise RunFailed(in_options(error, own_options())) from error


def _rate(text: str, name: str) -> float | None:
    """Read a rate; a link is as often given in bits alone, as 100Mbit. [B/s]."""
    from parcast.units import quantity

    if text.strip().casefold() == "none":
        return None
    return quantity(f"{text}/s" if text.endswith("bit") else text, "rate", name=name)


def _share(text: str) -> float | Literal["auto"] | None:
    """Read a share of a core. [1]."""
    from parcast.units import quantity

    word = text.strip().casefold()
    if word == "auto":
        return "auto"
    return None if word == "none" else quantity(text, "fraction", name="cpu")
