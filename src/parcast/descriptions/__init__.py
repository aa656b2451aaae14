"""Machines and programs as a person describes them, and their TOML files.

A description is frozen and checked key by key; its amounts may be formulas with units.
"""
