"""A session manager on the log: an agent's messages are the messages of a session, and its state a record of it."""

from __future__ import annotations

from typing import Any, Final, cast

from strands import Agent
from strands.multiagent.base import MultiAgentBase
from strands.session import RepositorySessionManager, SessionRepository
from strands.types.agent import LocalAgent
from strands.types.content import Message as Wire
from strands.types.exceptions import SessionException
from strands.types.session import Session as SdkSession
from strands.types.session import SessionAgent, SessionMessage

from recollect.adapters.strands.budget import SHAPE, as_ours
from recollect.adapters.strands.memory import SessionMemory
from recollect.flow.render import render
from recollect.frozen import thaw
from recollect.memory import Memory
from recollect.recent import Recent
from recollect.session import Session, add_answers
from recollect.store import Entry, Record
from recollect.store.codec import id_of
from recollect.types import Message, local_now

KIND: Final = "strands"
DEFAULT_AGENT: Final = "default"
KEPT_QUESTIONS: Final = 256


class SessionLog(RepositorySessionManager):
    """Keeps an agent in a session and restores it: `Agent(session_manager=SessionLog(session))`.

    Everything the agent hears and says is in the session's log, whatever its conversation manager takes out of its
    list. A conversation that began elsewhere goes on here. A second agent in the same session has a session of its
    own, named `session/agent`; a `memory` then leaves out what is shown of that one.
    """

    def __init__(self, session: Session, memory: SessionMemory | None = None) -> None:
        scope, self._memory = session.scope, memory
        self._log = LogRepository(session.memory, user=scope.user or "", tenant=scope.tenant)
        super().__init__(scope.session or "", self._log)

    def initialize(self, agent: LocalAgent, **kwargs: Any) -> None:
        """Restore the agent from what the log holds."""
        session, name = self.session_id, agent.agent_id
        began_elsewhere = self._log.read_agent(session, name) is None and self._log.list_messages(session, name, 1)
        if began_elsewhere:
            self._log.create_agent(session, SessionAgent.from_agent(agent))
            self._is_new_session = False
        if self._memory:
            self._memory.session = self._log._session(session, name)
        super().initialize(agent, **kwargs)
        if self._log._mark(session, name)[2]:
            _begin_with_a_question(agent)

    def sync_agent(self, agent: LocalAgent, **kwargs: Any) -> None:
        """Keep the state of the agent, as that of a new one if the session was erased meanwhile."""
        if self._log.read_agent(self.session_id, agent.agent_id) is None:
            self._log.create_agent(self.session_id, SessionAgent.from_agent(agent))
        super().sync_agent(agent, **kwargs)


class LogRepository(SessionRepository):
    """The sessions of one user, as the SDK reads and writes them."""

    def __init__(self, memory: Memory, *, user: str, tenant: str = "default") -> None:
        self.memory, self.user, self.tenant = memory, user, tenant
        self._asked = Recent[str | None, str | None](KEPT_QUESTIONS)  # the id of the last question, by session

    def create_session(self, session: SdkSession, **kwargs: Any) -> SdkSession:
        """Keep a session, and return it."""
        if self.read_session(session.session_id) is not None:
            raise SessionException(f"Session {session.session_id} already exists")
        self._put(session.session_id, "session", session.to_dict())
        return session

    def read_session(self, session_id: str, **kwargs: Any) -> SdkSession | None:
        """The session, or None where it is not on record."""
        found = self._get(session_id, "session")
        return None if found is None else SdkSession.from_dict(found)

    def create_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Keep the state of an agent, and where in the log the messages begin that it has left."""
        name, removed = session_agent.agent_id, session_agent.conversation_manager_state.get("removed_message_count", 0)
        if removed != self._mark(session_id, name)[0]:
            left = self._from(session_id, name, removed)
            newest = self.memory.store.log.read(self._session(session_id, name).scope, limit=1, reverse=True)
            seq = left[0][1].seq - 1 if left else sum(entry.seq for entry in newest)
            first = left[0][1].message.id if left else ""
            self._put(session_id, f"mark {name}", {"messages": removed, "seq": seq, "first": first})
        self._put(session_id, f"agent {name}", session_agent.to_dict())

    def read_agent(self, session_id: str, agent_id: str, **kwargs: Any) -> SessionAgent | None:
        """The state of an agent, or None."""
        found = self._get(session_id, f"agent {agent_id}")
        return None if found is None else SessionAgent.from_dict(found)

    def update_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Keep the state of an agent in the place of the one before."""
        before = self.read_agent(session_id, session_agent.agent_id)
        if before is None:
            raise SessionException(f"Agent {session_agent.agent_id} in session {session_id} does not exist")
        session_agent.created_at = before.created_at
        self.create_agent(session_id, session_agent)

    def create_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Keep a message, once, and no answer whose question was erased while the model thought."""
        session, message = self._session(session_id, agent_id), _read(session_message)
        asked = self._asked.get(session.scope.session)
        if message.role == "user":
            kept = session.add_many([message])
            self._asked[session.scope.session] = kept[0].id if kept else None
        elif asked:
            add_answers(session, asked, [message])
        else:
            session.add(message)

    def read_message(self, session_id: str, agent_id: str, message_id: int, **kwargs: Any) -> SessionMessage | None:
        """The message of that number, counted from 0, or None."""
        found = self.list_messages(session_id, agent_id, 1, message_id)
        return found[0] if found and found[0].message_id == message_id else None

    def update_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Erase a message that was redacted, for good, and keep what stands in its place."""
        session, message = self._session(session_id, agent_id), _read(session_message)
        if not message.id or not self.memory.store.log.get(session.scope, [message.id]):
            raise SessionException(f"Message {session_message.message_id} in session {session_id} does not exist")
        session.forget([message.id])
        session.add(message)

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **kwargs: Any
    ) -> list[SessionMessage]:
        """The messages of an agent from number `offset` on."""
        found = self._from(session_id, agent_id, offset)[:limit]
        return [_message(wire, entry, number) for number, (wire, entry) in enumerate(found, offset)]

    def create_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **kwargs: Any) -> None:
        """Keep the state of several agents that work together."""
        self._put(session_id, f"agents {multi_agent.id}", multi_agent.serialize_state())

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **kwargs: Any) -> dict[str, Any] | None:
        """The state of several agents that work together, or None."""
        return self._get(session_id, f"agents {multi_agent_id}")

    def update_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **kwargs: Any) -> None:
        """Keep their state in the place of the one before."""
        if self.read_multi_agent(session_id, multi_agent.id) is None:
            raise SessionException(f"MultiAgent {multi_agent.id} in session {session_id} does not exist")
        self.create_multi_agent(session_id, multi_agent)

    def _from(self, session_id: str, agent_id: str, offset: int) -> list[tuple[dict[str, Any], Entry]]:
        """The messages from number `offset` on, each with the entry it begins with.

        They are counted as the agent has them: one may be several entries, as results that came from another SDK are.
        """
        messages, seq, _ = self._mark(session_id, agent_id)
        if messages > offset:
            messages = seq = 0
        entries = self.memory.store.log.read(self._session(session_id, agent_id).scope, after=seq)
        wires = render([entry.message for entry in entries], SHAPE)
        found = [(wire, entries[n]) for wire, n in zip(wires, wires.sources, strict=True)]
        stand_in = messages > 0 and wires.sources[:2] == [0, 0]
        return found[offset - messages + stand_in :]

    def _mark(self, session_id: str, agent_id: str) -> tuple[int, int, bool]:
        """How many messages the agent's list had lost when it was last kept, the place in the log of the last of them,
        and whether the first that was left is erased. That one is known by its id, for another store counts otherwise.
        """
        kept = self._get(session_id, f"mark {agent_id}")
        if not kept:
            return 0, 0, False
        found = self.memory.store.log.get(self._session(session_id, agent_id).scope, [kept["first"]])
        return kept["messages"], found[0].seq - 1 if found else kept["seq"], bool(kept["first"]) and not found

    def _session(self, session_id: str, agent_id: str = DEFAULT_AGENT) -> Session:
        own = session_id if agent_id == DEFAULT_AGENT else f"{session_id}/{agent_id}"
        return self.memory.session(own, user=self.user, tenant=self.tenant)

    def _records(self, session_id: str, key: str) -> list[Record]:
        scope = self._session(session_id).scope
        return self.memory.store.records.find(scope, kind=KIND, key=key, exact=True)

    def _get(self, session_id: str, key: str) -> dict[str, Any] | None:
        found = self._records(session_id, key)
        return dict(thaw(found[-1].value)) if found else None

    def _put(self, session_id: str, key: str, value: dict[str, Any]) -> None:
        store, scope = self.memory.store, self._session(session_id).scope
        with store.transaction(scope):
            store.records.delete(scope, [record.id for record in self._records(session_id, key)])
            store.records.put(scope, [Record(KIND, key, value, id=id_of(KIND, key))])


def _begin_with_a_question(agent: LocalAgent) -> None:
    """Take out what stands before the first words of the user: answers whose question was erased."""
    asked = (n for n, wire in enumerate(agent.messages) if wire["role"] == "user" and _says(wire))
    if isinstance(agent, Agent) and (before := next(asked, len(agent.messages))):
        del agent.messages[:before]
        agent.conversation_manager.removed_message_count += before


def _says(wire: Wire) -> bool:
    return not any("toolResult" in block for block in wire["content"])


def _read(session_message: SessionMessage) -> Message:
    """The message as the log keeps it, under the id that the SDK knows it by."""
    wire = session_message.to_message()
    (message,) = as_ours([wire])
    return message.replace(id=wire.get("tracking_id") or "")


def _message(wire: dict[str, Any], entry: Entry, number: int) -> SessionMessage:
    wire.setdefault("tracking_id", entry.message.id)
    at = (entry.message.received or local_now()).isoformat()
    return SessionMessage(cast("Wire", wire), number, created_at=at, updated_at=at)
