"""Pages of events, and hits of searches."""

from __future__ import annotations

from ..v1 import event_removal_pb2 as rm
from ..v1 import event_service_pb2 as es
from ..v1 import search_service_pb2 as ss
from .events import Event
from .wrapper import Wrapper


class EventPage(Wrapper[es.ListEventsResponse]):
    """One page of events. Fields of ListEventsResponse, such as `log_version`, are attributes too."""

    __slots__ = ()

    @property
    def events(self) -> list[Event]:
        """The events of the page."""
        return [Event(event) for event in self.pb.events]

    @property
    def next_page_token(self) -> str:
        """The token of the next page; empty on the last one."""
        return self.pb.next_page_token


class Popped(Wrapper[rm.PopEventsResponse]):
    """Events that were popped. Fields of PopEventsResponse, such as `log_version` and `receipt`, are attributes too."""

    __slots__ = ()

    @property
    def events(self) -> list[Event]:
        """The events, the newest last."""
        return [Event(event) for event in self.pb.events]

    @property
    def replayed(self) -> bool:
        """Whether an earlier call with the operation id popped them."""
        return self.pb.replayed


class SearchHit(Wrapper[ss.SearchHit]):
    """One hit. Fields of the protobuf SearchHit, such as `session` and `highlights`, are attributes too."""

    __slots__ = ()

    @property
    def event(self) -> Event:
        """The event that was found."""
        return Event(self.pb.event)

    @property
    def score(self) -> float:
        """The relevance, from 0 to 1."""
        return float(self.pb.score)

    @property
    def before(self) -> list[Event]:
        """The neighbors before the event, oldest first."""
        return [Event(event) for event in self.pb.before]

    @property
    def after(self) -> list[Event]:
        """The neighbors after the event, oldest first."""
        return [Event(event) for event in self.pb.after]
