"""Formats of other tools, one a module: what each wrote, as measurements or a machine.

`registry` names them all and loads a module when its format is met.
"""
