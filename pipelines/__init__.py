"""Documents in, validated objects with evidence out."""
