import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "recollect",
    max_examples=int(os.environ.get("RECOLLECT_EXAMPLES", "200")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("recollect")
