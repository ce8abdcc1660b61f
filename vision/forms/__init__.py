"""Forms as typed data."""
