"""Schedulers that set circuits as transfers ask for them."""
