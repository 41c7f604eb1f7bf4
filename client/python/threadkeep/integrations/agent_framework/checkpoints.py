"""Checkpoints of workflows."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime

from agent_framework import WorkflowCheckpoint, WorkflowCheckpointException
from agent_framework._workflows._checkpoint_encoding import decode_checkpoint_value, encode_checkpoint_value

from ... import AsyncClient, CreateOptions, event_filter
from ...errors import EventNotFound, SessionNotFound
from ...filters import Filter
from ...formats.openai import verbatim
from ...messages import event
from ...v1.event_pb2 import NativeContent, SessionEvent

NATIVE = "agent_framework.checkpoint/1"
_SESSION = "agent-framework-checkpoints"
_FOREVER: CreateOptions = {"never_expires": True}


class ThreadkeepCheckpointStorage:
    """The checkpoints of workflows: each is an event, all of one session, whose log is their history.

    client: says the app and the user. session_id: the session of the checkpoints, which the first one creates. create: how it
    is created; by default it never expires. allowed_checkpoint_types: types ("module:qualname") that checkpoints may contain
    in addition to the framework's own, as of `FileCheckpointStorage`; `register_checkpoint_type` is another way.

    The framework pickles what is not JSON: load checkpoints only from a server whose writers you trust. A checkpoint has at
    most the bytes of an event, by default 16 MiB. Errors of calls are `ThreadkeepError`, others WorkflowCheckpointException.
    """

    def __init__(
        self,
        client: AsyncClient,
        session_id: str = _SESSION,
        *,
        create: CreateOptions | None = None,
        allowed_checkpoint_types: Iterable[str] = (),
    ) -> None:
        self._client = client
        self._handle = client.session(session_id)
        self._create: CreateOptions = _FOREVER if create is None else create
        self._allowed = frozenset(allowed_checkpoint_types)

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        """Store a checkpoint, in place of one with its id, and return the id. It is on durable storage when it returns.

        Raises WorkflowCheckpointException for one that could not be loaded again; EventTooLarge.
        """
        try:
            encoded = encode_checkpoint_value(checkpoint.to_dict())
            decode_checkpoint_value(encoded, allowed_types=self._allowed)
            content = verbatim(encoded)
        except WorkflowCheckpointException:
            raise
        except Exception as error:
            raise WorkflowCheckpointException(f"checkpoint {checkpoint.checkpoint_id} cannot be stored: {error}") from error
        about = {"workflow_name": checkpoint.workflow_name, "previous_checkpoint_id": checkpoint.previous_checkpoint_id}
        stored = event(
            "assistant",
            event_id=checkpoint.checkpoint_id,
            event_time=_time(checkpoint.timestamp),
            native=NativeContent(format=NATIVE, content=content),
            metadata=about,
        )
        await self._handle.append(stored, create_if_missing=self._create, if_exists="replace", erase_replaced=False)
        return checkpoint.checkpoint_id

    async def load(self, checkpoint_id: str) -> WorkflowCheckpoint:
        """Return a copy of a checkpoint. Raises WorkflowCheckpointException if there is none."""
        try:
            stored = (await self._handle.get_event(checkpoint_id)).pb
        except (EventNotFound, SessionNotFound):
            stored = None
        if stored is None or stored.erased:
            raise WorkflowCheckpointException(f"No checkpoint found with ID {checkpoint_id}")
        return self._checkpoint(stored)

    async def list_checkpoints(self, *, workflow_name: str) -> list[WorkflowCheckpoint]:
        """Return copies of the checkpoints of a workflow in the order in which they were first saved."""
        return [self._checkpoint(each) async for each in self._stored(workflow_name)]

    async def list_checkpoint_ids(self, *, workflow_name: str) -> list[str]:
        """Return the ids of `list_checkpoints`."""
        return [each.event_id async for each in self._stored(workflow_name)]

    async def get_latest(self, *, workflow_name: str) -> WorkflowCheckpoint | None:
        """Return a copy of the checkpoint of a workflow that was saved last, or None.

        A checkpoint is saved after the one that it follows, so this is the end of the chain; no clock and no iteration counts.
        """
        page = await self._handle.events_page(_of(workflow_name), order="desc", page_size=1)
        return self._checkpoint(page.events[0].pb) if page.events else None

    async def delete(self, checkpoint_id: str) -> bool:
        """Erase a checkpoint. False if there is none. Raises PermissionDenied: it needs the role admin."""
        try:
            return (await self._handle.erase_events([checkpoint_id])).erased > 0
        except (EventNotFound, SessionNotFound):
            return False

    async def _stored(self, workflow_name: str) -> AsyncIterator[SessionEvent]:
        async for each in self._handle.events(_of(workflow_name)):
            yield each.pb

    def _checkpoint(self, stored: SessionEvent) -> WorkflowCheckpoint:
        decoded = decode_checkpoint_value(json.loads(stored.native.content), allowed_types=self._allowed)
        return WorkflowCheckpoint.from_dict(decoded)


def _of(workflow_name: str) -> Filter:
    return event_filter(view="active", native_formats=[NATIVE], metadata={"workflow_name": workflow_name})


def _time(timestamp: str) -> datetime | None:
    """The time of a checkpoint, for readers of the log; the order does not depend on it."""
    try:
        time = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
