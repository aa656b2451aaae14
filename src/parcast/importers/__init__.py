"""Formats of other tools, one a module: what each wrote, as measurements or a machine.

`registry` names them all, those of other packages too, and loads a module when its format is met.
What all formats share is in `runs`, `axes` and `content`.
"""
