"""Pure decisions: no I/O, no clock, no randomness. One step a file."""
