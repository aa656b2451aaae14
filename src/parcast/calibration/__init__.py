"""What this machine is: micro-benchmarks in, a machine file out (`parcast calibrate`)."""
