"""Described programs as what is validated: runs that are there already, beside the prediction."""
