"""Which run to add next: how much narrower each would make the interval (`--plan-runs`)."""
