"""Arrays on clients and servers: boxes, meshes, chunks, subchunks and what overlaps."""
