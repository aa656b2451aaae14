"""Which constants of a law explain measured times: `parcast fit`, and capacities of machines.

`model` says what may change, `solver` finds it, `identifiability` says what the runs determine.
"""
