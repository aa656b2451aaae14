"""Explained from profiles: the efficiencies of the POP project."""
