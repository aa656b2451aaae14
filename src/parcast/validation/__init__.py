"""How a prediction is tested: what is asked of every subject that can be predicted and run."""
