"""Executing a schedule in integer time, and measuring NIC buffers."""
