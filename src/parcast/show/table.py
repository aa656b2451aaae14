"""The unit that the times of a table share."""
