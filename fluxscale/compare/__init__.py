"""One job under many schedulers, each at its best parameters, at one point or over a grid of fabrics."""
