"""Recollect at home in other frameworks, one file or folder each; nothing is imported until it is used."""
