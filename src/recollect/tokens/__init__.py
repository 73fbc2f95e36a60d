"""Counts tokens: an estimator that needs no packages, exact tokenizers, and the usage that providers report."""

from recollect.tokens.estimator import TokenCounter, estimate
from recollect.tokens.images import image_tokens
from recollect.tokens.message import REPLY_TOKENS, count_message, count_messages, count_tools
from recollect.tokens.models import Recommendation, recommended_budget, window_of
from recollect.tokens.open import counter
from recollect.tokens.usage import Calibration

__all__ = [
    "REPLY_TOKENS",
    "Calibration",
    "Recommendation",
    "TokenCounter",
    "count_message",
    "count_messages",
    "count_tools",
    "counter",
    "estimate",
    "image_tokens",
    "recommended_budget",
    "window_of",
]
