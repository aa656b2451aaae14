"""The libraries that have a law: each is registered here, and nowhere else."""

from typing import Final

from parcast.arrays.law.libraries.file_per_rank import FilePerRank
from parcast.arrays.law.libraries.library import Library
from parcast.arrays.law.libraries.pio import Pio
from parcast.arrays.law.libraries.romio import Romio

LIBRARIES: Final[dict[str, Library]] = {
    each.name: each for each in (Romio(), Pio("box"), Pio("subset"), FilePerRank())
}
