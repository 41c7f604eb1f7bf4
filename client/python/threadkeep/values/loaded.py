"""A session with its state and its log, as they were at one moment."""

from __future__ import annotations

from ..v1.event_service_pb2 import LoadSessionResponse
from ..v1.session_pb2 import Session
from .context import Context
from .events import Event
from .pages import EventPage
from .state import State, state_of
from .wrapper import Wrapper


class LoadedSession(Wrapper[LoadSessionResponse]):
    """A session with its state and its log, as of one moment."""

    __slots__ = ()

    @property
    def session(self) -> Session:
        """The session."""
        return self.pb.session

    @property
    def state(self) -> State:
        """The session's own state. Empty if it was not requested."""
        return state_of(self.pb.state.session)

    @property
    def user_state(self) -> State:
        """The state of its user in its app. Empty if it was not requested."""
        return state_of(self.pb.state.user)

    @property
    def app_state(self) -> State:
        """The state of its app. Empty if it was not requested, and for a credential that is bound to a user."""
        return state_of(self.pb.state.app)

    @property
    def newest_event(self) -> Event | None:
        """The last event of the log; None if there is none, if it does not fit, or if it was not requested."""
        return Event(self.pb.newest_event) if self.pb.HasField("newest_event") else None

    @property
    def page(self) -> EventPage:
        """The page of events; empty if another form of the log was requested. `events_page` accepts its next_page_token."""
        return EventPage(self.pb.events)

    @property
    def events(self) -> list[Event]:
        """The events of the page or of the context."""
        return self.context.events if self.pb.HasField("context") else self.page.events

    @property
    def context(self) -> Context:
        """The context; empty if another form of the log was requested."""
        return Context(self.pb.context)
