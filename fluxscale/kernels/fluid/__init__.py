"""The fluid simulator: circuits as windows, transfers that are cut."""
