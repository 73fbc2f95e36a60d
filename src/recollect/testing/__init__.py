"""Suites that third parties run on their own implementations."""
