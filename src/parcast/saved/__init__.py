"""Results as documents that are read again: the call that made each, and its numbers."""
