"""The frozen integer problem: what every solver, the checker and the simulator are given."""
