"""Sub-schedules to one valid schedule."""
