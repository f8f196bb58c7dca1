"""The optical fabric: planes, switches, ports, delays."""
