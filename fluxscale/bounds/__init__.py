"""Lower bounds, each with a name and a proof that can be recomputed."""
