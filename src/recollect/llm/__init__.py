"""Models that answer: a protocol, and small implementations opened by 'provider:model' names."""
