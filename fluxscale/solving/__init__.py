"""The contract between the framework and the solvers: parameters, outcome, status, registry."""
