"""What to ask for: how many nodes, for how long, at which cost, so that goals are met."""
