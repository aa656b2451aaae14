"""Timing laws, a family a module: parameters in, times out, for a whole grid of configurations.

A law is a class derived from `parcast.descriptions.program.Phase`: its fields are its parameters,
its formula is `cycle`. `curves` are what forecasts are made of, `curve_phases` the same as laws of
a phase; laws that count use `counting`. Nothing here reads files or prints; what is computed
from measured times is in the folders of the questions.
"""
