"""Descriptions of machines and programs, and their TOML files.

A description is frozen and checked key by key; an `amount` in it may be a formula with units.
`program` has the base of all laws and the place of each.
"""
