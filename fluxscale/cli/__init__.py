"""The command line: one module per verb, heavy imports inside the functions."""
