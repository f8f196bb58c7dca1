"""Matchings of ports (maximum, bottleneck), and demand matrices taken apart into matchings."""
