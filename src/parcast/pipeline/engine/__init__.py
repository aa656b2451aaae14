"""The engine: items are granted to ranks, results merged along a tree that no timing changes."""
