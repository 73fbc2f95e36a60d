"""Models that answer: a protocol, and small implementations opened by 'provider:model' names."""

from recollect.llm.metered import Metered, Spent
from recollect.llm.model import ChatModel, Delta, Reply, Usage
from recollect.llm.names import check, open
from recollect.llm.overflow import detect

__all__ = ["ChatModel", "Delta", "Metered", "Reply", "Spent", "Usage", "check", "detect", "open"]
