"""Pure decisions, one step per file: no I/O, no clock, no randomness."""
