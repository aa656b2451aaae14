"""Which machine suits a program, and how many of its processors: `plan` seen by its machines."""
