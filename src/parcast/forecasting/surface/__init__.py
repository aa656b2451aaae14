"""Forecasts over several parameters at once, as one surface of log time (`--at`)."""
