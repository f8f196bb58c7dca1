"""What people read: terminal tables and result files."""
