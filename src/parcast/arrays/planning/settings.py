"""The best plan as settings of other I/O libraries and models, as lines to paste.

I/O servers are called aggregators by MPI-IO and ADIOS2, I/O tasks by PIO, write tasks by the UFS
Weather Model. What a server writes at a time is the buffer of an aggregator. A file striped over
as many storage targets as there are servers, in stripes of that size, gives each server a target
of its own, as the law assumes [D]. docs/howto/plan-array-io.md gives the sources of the names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

STRIPE: Final = 65536  # of which stripes of Lustre are multiples [B]
NAMES: Final = {
    "romio": "ROMIO",
    "pio": "PIO",
    "adios2": "ADIOS2",
    "pnetcdf": "PnetCDF",
    "ufs": "UFS",
    "xios": "XIOS",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Settings of one library or model."""

    values: Mapping[str, int]  # by their names there
    lines: tuple[str, ...]  # to paste, comments included


def settings_of(servers: int, clients: int, buffer: int) -> dict[str, Settings]:
    """Settings for so many I/O servers of a program, which write `buffer` bytes at a time [B]."""
    tasks = min(servers, clients)  # of libraries whose aggregators are some of the clients
    hints = mpi_io_hints(tasks, buffer)
    pio = {"num_iotasks": tasks, "stride": max(clients // tasks, 1), "base": 0}
    return {
        "romio": Settings(values=hints, lines=_romio(hints)),
        "pio": Settings(values=pio, lines=_pio(pio)),
        "adios2": Settings(values={"NumAggregators": tasks}, lines=_adios2(tasks)),
        "pnetcdf": Settings(values=hints, lines=_pnetcdf(hints)),
        "ufs": Settings(
            values={"write_groups": 1, "write_tasks_per_group": servers},
            lines=_ufs(servers, clients),
        ),
        "xios": Settings(values={"servers": servers}, lines=_xios(servers, clients)),
    }


def mpi_io_hints(servers: int, buffer: int) -> dict[str, int]:
    """Hints of MPI-IO; the stripes are whole multiples of 64 KiB."""
    return {
        "cb_nodes": servers,
        "cb_buffer_size": buffer,
        "striping_factor": servers,
        "striping_unit": -(-buffer // STRIPE) * STRIPE,
    }


def _romio(hints: Mapping[str, int]) -> tuple[str, ...]:
    """File of hints."""
    return (
        "# Save as a file and name it in the environment variable ROMIO_HINTS.",
        "# Striping is used when a file is created.",
        f"# On fewer than {hints['cb_nodes']} hosts add: cb_config_list *:K, with K aggregators a "
        "host.",
        "romio_cb_write enable",
        "romio_cb_read enable",
        *(f"{name} {value}" for name, value in hints.items()),
    )


def _pio(values: Mapping[str, int]) -> tuple[str, ...]:
    """Commands for a case of CIME, and arguments of the initialization."""
    tasks, stride = values["num_iotasks"], values["stride"]
    return (
        "# In the folder of a case of CESM or E3SM:",
        f"./xmlchange PIO_NUMTASKS={tasks},PIO_STRIDE={stride}",
        "# Elsewhere, arguments of PIOc_Init_Intracomm or PIO_init:",
        f"# num_iotasks = {tasks}, stride = {stride}, base = 0",
    )


def _adios2(servers: int) -> tuple[str, ...]:
    """Configuration of the engine in XML."""
    return (
        "<!-- In the <io> element of adios2.xml, or io.SetParameter in the program. -->",
        '<engine type="BP5">',
        '  <parameter key="AggregationType" value="TwoLevelShm"/>',
        f'  <parameter key="NumAggregators" value="{servers}"/>',
        "</engine>",
    )


def _pnetcdf(hints: Mapping[str, int]) -> tuple[str, ...]:
    """Environment variable."""
    text = ";".join(f"{name}={value}" for name, value in hints.items())
    return (f'export PNETCDF_HINTS="{text}"',)


def _ufs(servers: int, clients: int) -> tuple[str, ...]:
    """Lines of model_configure."""
    return (
        f"# In model_configure; {servers} MPI tasks beside the {clients} of the forecast.",
        "quilting:                .true.",
        "write_groups:            1",
        f"write_tasks_per_group:   {servers}",
    )


def _xios(servers: int, clients: int) -> tuple[str, ...]:
    """Variable of iodef.xml, and how to start the servers."""
    return (
        '<!-- In the context "xios" of iodef.xml: -->',
        '<variable id="using_server" type="bool">true</variable>',
        "<!-- Start the servers beside the model: -->",
        f"<!-- mpirun -np {clients} ./model.exe : -np {servers} ./xios_server.exe -->",
    )
