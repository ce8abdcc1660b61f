"""The HTTP API: documents in, typed and evidenced data out, for everybody who doesn't write Python."""
