"""The independent checker. It shares no code with anything that makes a schedule."""
