"""Whether a law holds on this machine: predict, run, compare (`parcast validate`)."""
