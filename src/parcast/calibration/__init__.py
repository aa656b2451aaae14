"""What this machine is: micro-benchmarks in, a machine file out (`parcast calibrate`).

`jobs` are launched, `values` and `primitives` are made of what they measured, `machine_file`
writes them. Output of other benchmarks is read in `benchmarks`.
"""
