"""Constraints: schema or pattern → byte automaton → token automaton → canvas posterior."""
