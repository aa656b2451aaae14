"""Files of a dry run: what is written is encoded and goes nowhere, what is read is memory."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from parcast.arrays.geometry.boxes import Point
from parcast.arrays.library.distribution import Array
from parcast.arrays.library.schema import Schema, Subchunk
from parcast.arrays.library.storing import specs_of
from parcast.arrays.store.chunk_file import ChunkWriter
from parcast.arrays.store.layout import layout_of

NOWHERE: Final = os.devnull


class NullFiles:
    """The files of a request, without files; `clock` times what they do."""

    def __init__(self, schema: Schema, clock: Callable[[], float]) -> None:
        self.seconds, self.size = 0.0, 0  # of encoding what was written [s], [B]
        self._schema, self._clock = schema, clock
        self._file = os.open(NOWHERE, os.O_WRONLY | os.O_CLOEXEC)
        self._chunk: tuple[int, Point] | None = None
        self._target: ChunkWriter | None = None
        if schema.operation != "read":
            # Arrays of a kind are laid out in the same way, stacked or not.
            each = schema.arrays if schema.stack else schema.arrays[:1]
            [spec] = specs_of(replace(schema, arrays=each))
            self._layout = layout_of(spec.document(), is_whole=True)
            self.compresses = not self._layout.chain.keeps_length

    def write(self, array: int, subchunk: Subchunk, values: Array, *, more: bool = False) -> None:
        """Encode a subchunk."""
        began = self._clock()
        file, index = array, subchunk.chunk
        if self._schema.stack:
            file = array // self._schema.arrays_a_chunk
            index, values = (file, *index), values[None]
        if self._chunk != (file, index):
            self._chunk = file, index
            self._target = ChunkWriter(self._layout, index, self._file)
        assert self._target is not None
        self._target.write(values, more=more)
        self.seconds += self._clock() - began
        self.size += values.nbytes

    def read(self, array: int, subchunk: Subchunk) -> Array:
        """Give elements in memory."""
        began = self._clock()
        kind = self._schema.kinds[self._schema.arrays[array].kind]
        values = np.ones(subchunk.count, kind.dtype)
        self.seconds += self._clock() - began
        return values

    def flush(self) -> None:
        """Nothing is to be flushed."""

    def close(self) -> None:
        """Let go of the device."""
        os.close(self._file)
