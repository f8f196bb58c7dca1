"""What everything is compared with: schedulers that do not plan the whole iteration."""
