"""Tables as typed data."""
