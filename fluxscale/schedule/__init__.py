"""Schedules: op starts, planes of transfers, circuits over time; made, measured, saved."""
