"""Documents that match a query, by the parallel pipeline."""
