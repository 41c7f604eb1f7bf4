"""The suite that every store passes: the contract of `store.contract.store.Store`.

A test file derives from StoreSuite and gives it a `store` fixture with an empty store. A store that outlives the process
derives from DurableSuite too and gives it `open_again`; one that several servers can use at once from SharedSuite.

Tested elsewhere: triggers and strategies (tests/unit, tests/api), delivery to subscribers (tests/feed), and the cost of long
logs (tests/bench).
"""

from __future__ import annotations

from tests.store.rows.append import AppendRows, ConcurrencyRows, CreatingRows, PreconditionRows, ReplayRows
from tests.store.rows.compaction import CompactionConcurrencyRows, CompactionRows, RecordRows, RefusalRows
from tests.store.rows.consumers import BalanceRows, JoiningRows
from tests.store.rows.durable import DurableRows, SharedRows
from tests.store.rows.erasure import DurableErasureRows, ErasureRows
from tests.store.rows.expiry import ExpiryRows
from tests.store.rows.feed import FeedDetailRows, FeedRows
from tests.store.rows.feed_places import FeedDeletionRows, FeedHintRows, FeedLocateRows, FeedTrimRows
from tests.store.rows.feed_reading import FeedEventRows, FeedPagingRows, FeedScopeRows
from tests.store.rows.filters import BranchRows, FilterRows
from tests.store.rows.forking.feed import ForkFeedRows
from tests.store.rows.forking.forks import ForkListRows, ForkRefusalRows, ForkRows
from tests.store.rows.forking.imported import ImportedForkRows
from tests.store.rows.history import HistoryRows
from tests.store.rows.insertion import CompactedSearchRows, InsertionRows
from tests.store.rows.memories import (
    AddingRows,
    DurableMemoryRows,
    ForgettingRows,
    IngestionRows,
    MemoryListRows,
    SharedMemoryRows,
    SubstringRows,
)
from tests.store.rows.moving.feed import MoveFeedRows, MoveParkingRows
from tests.store.rows.moving.moves import MovedVectorRows, MoveRefusalRows, MoveRows, SharedMoveRows
from tests.store.rows.policies import LeaseRows, ListenerRows, PolicyRows
from tests.store.rows.progress import ParkingRows, ProgressRows
from tests.store.rows.reading import FidelityRows, PagingRows
from tests.store.rows.reads.body_filters import BodyFilterRows
from tests.store.rows.reads.breakdowns import BranchListRows, UsageRows
from tests.store.rows.reads.content import ContentRows
from tests.store.rows.reads.loading import ListedStateRows, LoadRows
from tests.store.rows.reads.session_lists import SessionListRows, UniqueIdRows
from tests.store.rows.reads.users import UserListRows
from tests.store.rows.removing.feed import RemovalFeedRows
from tests.store.rows.removing.removals import ClearRows, EraseRows, OperationRows, PopRows, ReplaceRows
from tests.store.rows.removing.retention import RetentionRows
from tests.store.rows.removing.rewinds import RewindRows
from tests.store.rows.removing.selections import ErasableRows
from tests.store.rows.removing.together import TogetherRows
from tests.store.rows.search.app_search import AppSearchRows
from tests.store.rows.search.found_events import FoundEventRows
from tests.store.rows.search.literal_search import SearchPagingRows, SearchRows, TextRows
from tests.store.rows.search.memory_terms import MemoryCandidateRows
from tests.store.rows.search.memory_vectors import DurableVectorRows, MemoryVectorRows, SharedVectorRows
from tests.store.rows.search.memory_writes import ConditionRows, MemoryExpiryRows, NamespaceRows, WritingRows
from tests.store.rows.search.ranked_search import CandidateChangeRows, CandidateRows
from tests.store.rows.search.scopes import CandidateLimitRows, CandidateScopeRows
from tests.store.rows.search.vectors import EmbeddingRows, VectorDeletionRows, VectorModelRows, VectorScopeRows
from tests.store.rows.session_updates import SessionUpdateRows
from tests.store.rows.sessions import NamingRows, SessionRows
from tests.store.rows.states.state import (
    StateConcurrencyRows,
    StateDeltaRows,
    StateErasureRows,
    StateFeedRows,
    StateHistoryRows,
    StateRows,
)
from tests.store.rows.upkeep import UpkeepRows
from tests.store.rows.windows import ContextConcurrencyRows, ContextRows, WindowRows


class VectorSuite(VectorModelRows, EmbeddingRows, VectorDeletionRows, VectorScopeRows, MemoryVectorRows, MovedVectorRows):
    """Every promise of the contract about embeddings, which encrypted texts do not have."""


class TextSuite(
    SessionRows,
    SessionUpdateRows,
    SessionListRows,
    UniqueIdRows,
    LoadRows,
    ListedStateRows,
    BranchListRows,
    UsageRows,
    ContentRows,
    StateRows,
    StateHistoryRows,
    StateDeltaRows,
    StateConcurrencyRows,
    StateFeedRows,
    StateErasureRows,
    NamingRows,
    ExpiryRows,
    ErasureRows,
    UserListRows,
    AppendRows,
    ReplayRows,
    PreconditionRows,
    CreatingRows,
    ConcurrencyRows,
    FidelityRows,
    PagingRows,
    BodyFilterRows,
    FilterRows,
    BranchRows,
    TextRows,
    SearchRows,
    SearchPagingRows,
    AppSearchRows,
    CandidateRows,
    CandidateChangeRows,
    CandidateScopeRows,
    CandidateLimitRows,
    FoundEventRows,
    CompactionRows,
    InsertionRows,
    RefusalRows,
    RecordRows,
    CompactedSearchRows,
    CompactionConcurrencyRows,
    PopRows,
    ClearRows,
    EraseRows,
    ErasableRows,
    ReplaceRows,
    OperationRows,
    TogetherRows,
    RemovalFeedRows,
    RewindRows,
    ForkRows,
    ForkRefusalRows,
    ForkListRows,
    ForkFeedRows,
    ImportedForkRows,
    MoveRows,
    MoveRefusalRows,
    MoveFeedRows,
    MoveParkingRows,
    WindowRows,
    ContextRows,
    ContextConcurrencyRows,
    HistoryRows,
    PolicyRows,
    LeaseRows,
    ListenerRows,
    JoiningRows,
    BalanceRows,
    ProgressRows,
    ParkingRows,
    FeedRows,
    FeedDetailRows,
    FeedPagingRows,
    FeedScopeRows,
    FeedEventRows,
    FeedDeletionRows,
    FeedLocateRows,
    FeedTrimRows,
    FeedHintRows,
    AddingRows,
    IngestionRows,
    ForgettingRows,
    MemoryListRows,
    WritingRows,
    NamespaceRows,
    ConditionRows,
    MemoryExpiryRows,
    SubstringRows,
    MemoryCandidateRows,
    RetentionRows,
    UpkeepRows,
):
    """Every other promise of the contract."""


class StoreSuite(TextSuite, VectorSuite):
    """Every promise of the contract."""


class DurableSuite(DurableRows, DurableErasureRows, DurableMemoryRows, DurableVectorRows):
    """What holds beyond the life of a process."""


class SharedSuite(SharedRows, SharedMoveRows, SharedMemoryRows, SharedVectorRows):
    """What holds when several servers use one database."""
