"""Files in and out: text out of bytes, whole documents, faults with their lines.

Readers report every fault of a file together; writers leave no half-written file behind.
"""
