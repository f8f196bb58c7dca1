"""Matchings in bipartite and general graphs, and demand matrices taken apart into them."""
