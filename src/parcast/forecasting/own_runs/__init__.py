"""What the measured times of a series say of others: laws, and intervals from how these erred."""
