"""Jobs that ranks of this machine run, what is observed of them, and what that predicts."""
