"""The layers of memory: what each learns from a turn, what it offers a context."""
