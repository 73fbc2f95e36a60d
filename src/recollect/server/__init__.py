"""The service: `recollect serve`. The library's methods over HTTP, an OpenAI-compatible proxy and a streaming chat."""
