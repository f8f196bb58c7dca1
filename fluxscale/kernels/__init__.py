"""Compiled kernels: arrays in, arrays out, status codes instead of exceptions. Each has a plain-Python twin in the tests."""
