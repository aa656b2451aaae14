"""A program described from its own profiles, region by region: `parcast characterise`.

`runs` says which profiles belong together, `loops` finds the cost of an iteration, `rows` writes
the regions as a phase.
"""
