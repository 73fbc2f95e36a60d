"""A sample conversation, and the demo that runs it."""
