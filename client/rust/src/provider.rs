//! Memory providers: the events that a participant reads, and whether it writes.

use crate::Authors;
use crate::v1::{ContextMode, ContextSpec};

/// How a participant uses a session: the events that it reads, and whether it writes. An argument of
/// [`SessionHandle::with_memory`](crate::SessionHandle::with_memory) and `get_context`.
///
/// All conditions apply: authors first, then the newest n events, then the newest turns, then the sizes.
///
/// ```
/// use threadkeep::{Authors, MemoryProvider};
/// let planner = MemoryProvider::limited_window().filtered(Authors::include().role("planner")).max_turns(10);
/// assert!(planner.reads() && planner.writes() && !MemoryProvider::read_only().writes());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct MemoryProvider(ContextSpec);

impl MemoryProvider {
    /// Reads the active window within the session's or the server's size (156 KiB), and writes.
    pub fn limited_window() -> Self {
        Self::of(ContextMode::ReadWrite)
    }

    /// Neither reads nor writes.
    pub fn none() -> Self {
        Self::of(ContextMode::None)
    }

    /// Reads like [`limited_window`](Self::limited_window); its appends are dropped.
    pub fn read_only() -> Self {
        Self::of(ContextMode::ReadOnly)
    }

    /// Writes; its contexts are empty.
    pub fn write_only() -> Self {
        Self::of(ContextMode::WriteOnly)
    }

    /// Reads and writes by a specification of the protocol.
    pub fn custom(spec: ContextSpec) -> Self {
        Self(spec)
    }

    fn of(mode: ContextMode) -> Self {
        Self(ContextSpec { mode: mode.into(), ..Default::default() })
    }

    /// Returns the same provider, whose appends are dropped.
    pub fn without_writes(mut self) -> Self {
        let mode = if self.reads() { ContextMode::ReadOnly } else { ContextMode::None };
        self.0.mode = mode.into();
        self
    }

    /// Reads only the newest n events, extended back to the start of their turn.
    pub fn read_last(mut self, n: u32) -> Self {
        self.0.last_n = Some(n.try_into().unwrap_or(i32::MAX));
        self
    }

    /// Reads only events of these authors; another call applies to the result of this one.
    pub fn filtered(mut self, authors: Authors) -> Self {
        self.0.author_filters.extend(authors.0);
        self
    }

    /// Sets the role of an agent, for filters; it overrides the roles that are stored with its events.
    pub fn author_role(mut self, id: impl Into<String>, role: impl Into<String>) -> Self {
        self.0.author_roles.insert(id.into(), role.into());
        self
    }

    /// Reads only the newest n turns.
    pub fn max_turns(mut self, n: u32) -> Self {
        self.0.max_turns = Some(n.try_into().unwrap_or(i32::MAX));
        self
    }

    /// Reads at most n tokens, by the server's estimate.
    pub fn max_tokens(mut self, n: i64) -> Self {
        self.0.max_tokens = Some(n);
        self
    }

    /// Reads at most n bytes of text, reasoning, tool calls and results.
    pub fn max_bytes(mut self, n: i64) -> Self {
        self.0.max_bytes = Some(n);
        self
    }

    /// Reads what an agent on this branch sees: events of the root, of the branch itself and of its ancestors.
    pub fn on_branch(mut self, branch: impl Into<String>) -> Self {
        self.0.branch = branch.into();
        self
    }

    /// Reads without the SYSTEM event.
    pub fn without_system(mut self) -> Self {
        self.0.exclude_system = true;
        self
    }

    /// Returns whether contexts have events.
    #[must_use]
    pub fn reads(&self) -> bool {
        !matches!(self.0.mode(), ContextMode::None | ContextMode::WriteOnly)
    }

    /// Returns whether appends are sent.
    #[must_use]
    pub fn writes(&self) -> bool {
        !matches!(self.0.mode(), ContextMode::None | ContextMode::ReadOnly)
    }
}

impl From<ContextSpec> for MemoryProvider {
    fn from(spec: ContextSpec) -> Self {
        Self(spec)
    }
}

impl From<MemoryProvider> for ContextSpec {
    fn from(provider: MemoryProvider) -> Self {
        provider.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_reads_and_writes_by_its_mode() {
        let modes = [
            MemoryProvider::limited_window(),
            MemoryProvider::custom(ContextSpec::default()),
            MemoryProvider::read_only(),
            MemoryProvider::write_only(),
            MemoryProvider::none(),
            MemoryProvider::limited_window().without_writes(),
            MemoryProvider::write_only().without_writes(),
        ];
        let of = |provider: &MemoryProvider| (provider.reads(), provider.writes());
        let wanted = [(true, true), (true, true), (true, false), (false, true), (false, false), (true, false), (false, false)];
        assert_eq!(modes.iter().map(of).collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn limits_and_filters_are_combined() {
        let provider = MemoryProvider::read_only().read_last(3).max_turns(2).max_tokens(100).max_bytes(9).on_branch("a");
        let provider = provider.filtered(Authors::include().id("x")).filtered(Authors::exclude().role("critic"));
        let spec = ContextSpec::from(provider.author_role("x", "critic").without_system());
        assert_eq!((spec.mode(), spec.last_n, spec.max_turns), (ContextMode::ReadOnly, Some(3), Some(2)));
        assert_eq!((spec.max_tokens, spec.max_bytes, spec.branch.as_str()), (Some(100), Some(9), "a"));
        assert_eq!((spec.author_filters.len(), spec.author_roles["x"].as_str(), spec.exclude_system), (2, "critic", true));
    }
}
