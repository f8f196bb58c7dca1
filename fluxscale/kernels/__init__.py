"""Compiled kernels: arrays in.

Arrays out, status codes instead of exceptions. Each has a plain-Python twin in the tests.
"""
