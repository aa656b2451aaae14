"""Files in and out, one format a module.

What stands here translates between text and the objects of parcast; it never computes. Readers
report every fault of a file together; writers leave no half-written file behind.
"""
