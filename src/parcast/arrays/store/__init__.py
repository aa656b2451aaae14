"""Arrays on disk, without MPI: Zarr v3 stores and .npy files, complete or absent.

`draft` and `writing` write, several processes into one store at once; `reading` reads boxes of
arrays; `verify` checks every byte.
"""
