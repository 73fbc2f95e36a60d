"""Prints the OpenAPI document of the service."""

import json

from recollect.server.app import create_app
from recollect.server.options import Options

print(json.dumps(create_app(Options()).openapi(), indent=1, sort_keys=True))
