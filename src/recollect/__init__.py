"""Recollect: the memory of LLM agents."""
