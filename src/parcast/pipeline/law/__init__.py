"""The laws of a pipeline: the phase of a program, formulas, the default schedule, constants."""
