"""What a request may be asked for by name: one list of each, which loads nothing."""

from typing import Final, Literal, get_args

Policy = Literal["balanced", "hpf"]  # blocks of an extent that the mesh does not divide
Writer = Literal["sync", "write-behind", "double-buffer"]  # what goes on while a server writes
Operation = Literal["write", "read"]
Objective = Literal["time", "utilisation", "fewest"]  # by which plans are ranked

POLICIES: Final[tuple[Policy, ...]] = get_args(Policy)
WRITERS: Final[tuple[Writer, ...]] = get_args(Writer)
OPERATIONS: Final[tuple[Operation, ...]] = get_args(Operation)
OBJECTIVES: Final[tuple[Objective, ...]] = get_args(Objective)

MANY: Final = 64  # files, from which on one flush of the file system takes less than one of each
MOST_RANKS: Final = 256  # clients, or servers, of a request that is run here
AHEAD: Final = 3  # units that a server of the library has in memory, where a thread writes
