"""Searches of the SQL store."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ....domain.filters import ALL, EventFilter
from ....domain.model import SessionRef
from ....domain.scopes import EventScope
from ....domain.search import Candidate, Candidates, Field, WordQuery
from ...contract.search import FoundEvent, SearchPage, SearchQuery
from ..log.scan import Scanner
from ..log.unit_runner import UnitRunner
from ..scan_budget import ScanBudget, ScanLimits
from . import literal_queries
from .analysis_cache import AnalysisCache
from .common_terms import CommonTerms
from .derivation import terms_text
from .event_keys import event_keys
from .event_lookup import events_by_key, of_one_moment
from .term_queries import neighbor_candidates, word_candidates
from .text_index import TextIndex


class SqlSearch:
    """SearchStore on a database. `index` None: searches scan, as those of encrypted tenants do. `limits`: for events that are
    not indexed."""

    def __init__(self, units: UnitRunner, index: TextIndex | None, limits: ScanLimits) -> None:
        self._units = units
        self._limits = limits
        self._index = index
        self._common = CommonTerms()
        self._analyzed = AnalysisCache(lambda body, time: terms_text(units.codec.words(body, time)))

    async def search(self, tenant: str, query: SearchQuery) -> SearchPage:
        scope, index = query.scope, self._index_of(tenant)

        def unit(scanner: Scanner) -> SearchPage:
            budget = ScanBudget(self._limits)
            if isinstance(scope, SessionRef):
                return literal_queries.search_session(scanner, tenant, scope, query, budget)
            return literal_queries.search_sessions(scanner, index, tenant, scope, query, budget)

        return await self._units.of(tenant).scan(unit, snapshot=True, replica=True)

    def _index_of(self, tenant: str) -> TextIndex | None:
        """Raises SearchDisabled."""
        return None if self._units.codec.scans(tenant) else self._index

    async def word_candidates(self, tenant: str, scope: EventScope, query: WordQuery, wanted: EventFilter = ALL) -> Candidates:
        texts = self._index_of(tenant)
        index = None if texts is None else texts.words

        def unit(scanner: Scanner) -> Candidates:
            return word_candidates(scanner, self._analyzed, index, self._common, tenant, scope, query, wanted, self._limits)

        return await self._units.of(tenant).scan(unit, snapshot=True, replica=True)

    async def neighbor_candidates(
        self, tenant: str, scope: EventScope, keys: Sequence[int], fields: Field, wanted: EventFilter = ALL
    ) -> Sequence[Candidate]:
        unit = partial(
            neighbor_candidates, analyzed=self._analyzed, tenant=tenant, scope=scope, keys=keys, fields=fields, wanted=wanted
        )
        return await self._units.of(tenant).scan(unit, snapshot=True, replica=True)

    async def events_by_key(
        self, tenant: str, scope: EventScope, keys: Sequence[int], wanted: EventFilter = ALL, *, neighbors: int = 0
    ) -> Sequence[FoundEvent]:
        unit = partial(events_by_key, tenant=tenant, scope=scope, keys=keys, wanted=wanted, neighbors=neighbors)
        return await self._units.of(tenant).scan(unit, snapshot=not of_one_moment(wanted, neighbors), replica=True)

    async def event_keys(self, tenant: str, places: Sequence[tuple[SessionRef, int]]) -> Sequence[int]:
        return await self._units.of(tenant).read(lambda connection: event_keys(connection, tenant, places))
