"""One frame for alternatives: their order, sheet, picture and command, whatever they are.

It stands below its subjects, as `trials` does: they use its order, and it finds them by place.
"""
