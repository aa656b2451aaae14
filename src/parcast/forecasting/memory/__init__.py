"""Memory of a rank and of all, forecast as times are, and the nodes that it fits."""
