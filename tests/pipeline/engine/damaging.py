"""Damage to a checkpoint: a flipped bit, a file that is cut or removed."""

import json

from parcast.pipeline.engine.checkpoint import MANIFEST

SAID = "Results in the checkpoint were damaged or missing ("


def flipped(path, chance):
    """Flip one bit of a file."""
    content = bytearray(path.read_bytes())
    place = chance.randrange(8 * len(content))
    content[place // 8] ^= 1 << place % 8
    path.write_bytes(content)


def cut(path, chance):
    content = path.read_bytes()
    path.write_bytes(content[: chance.randrange(len(content))])


def removed(path, _):
    path.unlink()


def counted(kept):
    """Files of the results that count; a manifest names them."""
    if not (kept / MANIFEST).exists():
        return []
    nodes = json.loads((kept / MANIFEST).read_text())["nodes"]
    return [kept / f"{'-'.join(map(str, node))}.node" for *node, size, _ in nodes if size]
