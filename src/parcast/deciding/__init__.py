"""Groups of commands over all laws: what explains a way of computing, and what plans a run."""
