"""A plugin of parcast: what other packages can add, see docs/howto."""
