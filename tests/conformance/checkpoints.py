"""A subscription as a slow reader sees it."""

from __future__ import annotations

from threadkeep.v1.subscription_pb2 import CHECKPOINT_KIND_CAUGHT_UP, CHECKPOINT_KIND_FELL_BEHIND, Change, Checkpoint
from threadkeep.v1.subscription_service_pb2 import WatchAllResponse, WatchSessionResponse

from .messages import BY_PATH


def fallen_behind(path: str, data: bytes) -> bytes:
    """This message of a watch with FELL_BEHIND and CAUGHT_UP after each whole change, with its token."""
    message = BY_PATH[path].response.FromString(data)
    assert isinstance(message, WatchSessionResponse | WatchAllResponse)
    changes = list(message.changes)
    del message.changes[:]
    for change in changes:
        message.changes.append(change)
        if change.WhichOneof("kind") != "checkpoint" and not change.batch.continues and not change.compaction.continues:
            for kind in (CHECKPOINT_KIND_FELL_BEHIND, CHECKPOINT_KIND_CAUGHT_UP):
                message.changes.append(Change(checkpoint=Checkpoint(kind=kind), resume_token=change.resume_token))
    return message.SerializeToString()
