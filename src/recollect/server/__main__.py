"""Prints the OpenAPI document of the service."""

import json

from recollect.server.app import document

print(json.dumps(document(), indent=1, sort_keys=True))
