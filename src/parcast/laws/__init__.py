"""Timing laws, one a module: parameters in, times out, for a whole grid of configurations.

Pure functions over arrays: no files, no printing. What stands here knows programs and machines by
their descriptions; what is computed from measured times with the laws is in `parcast.forecasting`.
"""
