"""The traffic of a traced run: what its messages say of the formulas for their delay."""
