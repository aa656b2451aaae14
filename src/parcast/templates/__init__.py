"""Templates of descriptions: what `parcast init` writes."""
