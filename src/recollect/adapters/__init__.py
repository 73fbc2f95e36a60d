"""Recollect at home in other frameworks: one module each, imported by its name, each with an extra of that name."""
