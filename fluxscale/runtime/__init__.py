"""Where independent pieces of work run: in this process or in worker processes, behind one protocol."""
