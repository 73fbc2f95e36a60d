"""The service: `recollect serve`. The library's verbs over HTTP, an OpenAI-compatible proxy and a streaming chat."""
