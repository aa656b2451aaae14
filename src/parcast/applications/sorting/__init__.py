"""Arrays larger than memory, sorted by the parallel pipeline."""
