//! Builders of filters.

use std::time::SystemTime;

use crate::v1::author_filter::Kind;
use crate::v1::event_filter::Limit;
use crate::v1::{self, AuthorFilter, AuthorSet, BranchMatch, KeywordMatch, LogView, NumberedPage, Role};

/// A filter of reads, searches and subscriptions. Conditions are combined with AND, the values of one with OR.
///
/// ```
/// use threadkeep::{Authors, EventFilter, Role};
/// let filter = EventFilter::new().role(Role::User).authors(Authors::exclude().role("critic")).last_n(20);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct EventFilter(v1::EventFilter);

impl EventFilter {
    /// Returns a filter that all events pass.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps events from this time on, inclusive. The time of an event is its event_time or, if absent, its record_time.
    pub fn from_time(mut self, time: SystemTime) -> Self {
        self.0.from_time = Some(time.into());
        self
    }

    /// Keeps events up to this time, inclusive.
    pub fn to_time(mut self, time: SystemTime) -> Self {
        self.0.to_time = Some(time.into());
        self
    }

    /// Keeps events with a higher seq.
    pub fn after_seq(mut self, seq: i64) -> Self {
        self.0.after_seq = Some(seq);
        self
    }

    /// Keeps events with a lower seq.
    pub fn before_seq(mut self, seq: i64) -> Self {
        self.0.before_seq = Some(seq);
        self
    }

    /// Keeps events of this role; several roles are combined with OR. At most 16.
    pub fn role(mut self, role: Role) -> Self {
        self.0.roles.push(role.into());
        self
    }

    /// Keeps events of these authors; the steps come after those that are there.
    pub fn authors(mut self, authors: Authors) -> Self {
        self.0.author_filters.extend(authors.0);
        self
    }

    /// Leaves out synthetic events, such as summaries.
    pub fn exclude_synthetic(mut self) -> Self {
        self.0.exclude_synthetic = true;
        self
    }

    /// Keeps events of the active window only, without archived ones.
    pub fn active(self) -> Self {
        self.view(LogView::Active)
    }

    /// Sets the part of the log to read. Default: the whole log.
    pub fn view(mut self, view: LogView) -> Self {
        self.0.view = view.into();
        self
    }

    /// Keeps events whose text contains this, after case folding. At most 1,024 characters.
    pub fn keyword(mut self, keyword: impl Into<String>) -> Self {
        self.0.keyword = keyword.into();
        self
    }

    /// Keeps events whose text contains any of these. At most 64.
    pub fn any_keyword<T: Into<String>>(self, keywords: impl IntoIterator<Item = T>) -> Self {
        self.keywords(keywords, KeywordMatch::Any)
    }

    /// Keeps events whose text contains all of these. At most 64.
    pub fn all_keywords<T: Into<String>>(self, keywords: impl IntoIterator<Item = T>) -> Self {
        self.keywords(keywords, KeywordMatch::All)
    }

    fn keywords<T: Into<String>>(mut self, keywords: impl IntoIterator<Item = T>, how: KeywordMatch) -> Self {
        self.0.keywords = keywords.into_iter().map(Into::into).collect();
        self.0.keyword_match = how.into();
        self
    }

    /// Keeps events of this invocation; several are combined with OR. At most 64.
    pub fn invocation_id(mut self, id: impl Into<String>) -> Self {
        self.0.invocation_ids.push(id.into());
        self
    }

    /// Keeps events of this native format; several are combined with OR. At most 16.
    pub fn native_format(mut self, format: impl Into<String>) -> Self {
        self.0.native_formats.push(format.into());
        self
    }

    /// Keeps events whose metadata has this top-level value; several must all be there. At most 16. Numbers and booleans are
    /// compared as their JSON text.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.metadata.insert(key.into(), value.into());
        self
    }

    /// Keeps events whose text this regular expression, in the syntax of RE2, matches somewhere. Not for watches and consumers.
    pub fn pattern(mut self, expression: impl Into<String>) -> Self {
        self.0.pattern = expression.into();
        self
    }

    /// Keeps what an agent on this branch sees: events of the root, of the branch itself and of its ancestors.
    pub fn branch(mut self, branch: impl Into<String>) -> Self {
        self.0.branch = branch.into();
        self.0.branch_match = BranchMatch::Visible.into();
        self
    }

    /// Keeps events of this branch only; "" is the root.
    pub fn exact_branch(mut self, branch: impl Into<String>) -> Self {
        self.0.branch = branch.into();
        self.0.branch_match = BranchMatch::Exact.into();
        self
    }

    /// Keeps the newest n matches, without a keyword extended back to the start of their turn. Replaces another window.
    pub fn last_n(mut self, n: u32) -> Self {
        self.0.limit = Some(Limit::LastN(int(n)));
        self
    }

    /// Keeps the newest n matches; a turn may be split. Replaces another window.
    pub fn exact_last_n(mut self, n: u32) -> Self {
        self.0.limit = Some(Limit::ExactLastN(int(n)));
        self
    }

    /// Keeps one numbered page of the matches, from 0. Replaces another window.
    pub fn page(mut self, page: u32, page_size: u32) -> Self {
        self.0.limit = Some(Limit::Page(NumberedPage { page: int(page), page_size: int(page_size) }));
        self
    }

    /// Adds the conditions of another filter: what it sets replaces what this one sets; its author steps come after those that
    /// are there, and its metadata are conditions too.
    pub fn merge(self, other: impl Into<EventFilter>) -> Self {
        let (mut merged, other) = (self.0, other.into().0);
        merged.from_time = other.from_time.or(merged.from_time);
        merged.to_time = other.to_time.or(merged.to_time);
        merged.after_seq = other.after_seq.or(merged.after_seq);
        merged.before_seq = other.before_seq.or(merged.before_seq);
        merged.author_filters.extend(other.author_filters);
        merged.exclude_synthetic |= other.exclude_synthetic;
        merged.limit = other.limit.or(merged.limit);
        if !other.roles.is_empty() {
            merged.roles = other.roles;
        }
        if other.view != 0 {
            merged.view = other.view;
        }
        if !other.keyword.is_empty() {
            merged.keyword = other.keyword;
        }
        if !other.keywords.is_empty() {
            (merged.keywords, merged.keyword_match) = (other.keywords, other.keyword_match);
        }
        if !other.invocation_ids.is_empty() {
            merged.invocation_ids = other.invocation_ids;
        }
        if !other.native_formats.is_empty() {
            merged.native_formats = other.native_formats;
        }
        merged.metadata.extend(other.metadata);
        if !other.pattern.is_empty() {
            merged.pattern = other.pattern;
        }
        if !other.branch.is_empty() || other.branch_match != 0 {
            (merged.branch, merged.branch_match) = (other.branch, other.branch_match);
        }
        Self(merged)
    }
}

impl From<v1::EventFilter> for EventFilter {
    fn from(filter: v1::EventFilter) -> Self {
        Self(filter)
    }
}

impl From<EventFilter> for v1::EventFilter {
    fn from(filter: EventFilter) -> Self {
        filter.0
    }
}

/// The agents whose events are read: an ordered chain of steps, each applied to the result of the one before it. Steps of one
/// kind are merged at the place of the first. [`id`](Self::id) and [`role`](Self::role) add to the last step.
///
/// ```
/// use threadkeep::Authors;
/// let authors = Authors::include().role("researcher").then_exclude().id("critic-2");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Authors(pub(crate) Vec<AuthorFilter>);

impl Authors {
    /// Keeps only events of the agents that follow. At least one is needed.
    pub fn include() -> Self {
        Self(Vec::new()).then_include()
    }

    /// Drops events of the agents that follow. At least one is needed.
    pub fn exclude() -> Self {
        Self(Vec::new()).then_exclude()
    }

    /// Of these, keeps only events of the agents that follow.
    pub fn then_include(mut self) -> Self {
        self.0.push(AuthorFilter { kind: Some(Kind::Include(AuthorSet::default())) });
        self
    }

    /// Of these, drops events of the agents that follow.
    pub fn then_exclude(mut self) -> Self {
        self.0.push(AuthorFilter { kind: Some(Kind::Exclude(AuthorSet::default())) });
        self
    }

    /// Adds the agent with this id.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.last().ids.push(id.into());
        self
    }

    /// Adds the agents of this role in the fleet.
    pub fn role(mut self, role: impl Into<String>) -> Self {
        self.last().roles.push(role.into());
        self
    }

    fn last(&mut self) -> &mut AuthorSet {
        match self.0.last_mut().and_then(|step| step.kind.as_mut()) {
            Some(Kind::Include(set) | Kind::Exclude(set)) => set,
            None => unreachable!("a chain begins with a step"),
        }
    }
}

fn int(n: u32) -> i32 {
    n.try_into().unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_filter_sets_its_fields() {
        let late = SystemTime::UNIX_EPOCH + Duration::from_secs(9);
        let filter = EventFilter::new().to_time(late).after_seq(1).before_seq(9).role(Role::User).role(Role::Tool);
        let filter = filter.exclude_synthetic().active().keyword("gate").all_keywords(["a", "b"]).exact_branch("").page(1, 10);
        assert_eq!(
            v1::EventFilter::from(filter),
            v1::EventFilter {
                to_time: Some(late.into()),
                after_seq: Some(1),
                before_seq: Some(9),
                roles: vec![Role::User.into(), Role::Tool.into()],
                exclude_synthetic: true,
                view: LogView::Active.into(),
                keyword: "gate".into(),
                keywords: vec!["a".into(), "b".into()],
                keyword_match: KeywordMatch::All.into(),
                branch_match: BranchMatch::Exact.into(),
                limit: Some(Limit::Page(NumberedPage { page: 1, page_size: 10 })),
                ..Default::default()
            }
        );
    }

    #[test]
    fn a_merged_filter_has_the_conditions_of_both() {
        let first = EventFilter::new().role(Role::User).after_seq(3).last_n(5).branch("a").authors(Authors::include().id("x"));
        let second = EventFilter::new().role(Role::Tool).keyword("gate").page(0, 2).authors(Authors::exclude().role("critic"));
        let merged = EventFilter::new().role(Role::Tool).after_seq(3).keyword("gate").page(0, 2).branch("a");
        let merged = merged.authors(Authors::include().id("x").then_exclude().role("critic"));
        assert_eq!(first.clone().merge(second), merged);
        assert_eq!(first.clone().merge(EventFilter::new()), first);
        let rest = EventFilter::new().invocation_id("i").native_format("f").metadata("k", "v").pattern("a.b");
        assert_eq!(EventFilter::new().invocation_id("j").pattern("x").merge(rest.clone()), rest);
        let exact = first.clone().merge(EventFilter::new().exact_branch(""));
        assert_eq!(exact, EventFilter(v1::EventFilter { branch: "".into(), branch_match: BranchMatch::Exact.into(), ..first.0 }));
    }

    #[test]
    fn agents_are_added_to_the_last_step() {
        let set = |ids: &[&str], roles: &[&str]| AuthorSet {
            ids: ids.iter().map(ToString::to_string).collect(),
            roles: roles.iter().map(ToString::to_string).collect(),
        };
        let authors = Authors::exclude().id("a").then_include().role("planner").id("b");
        let kinds: Vec<_> = authors.0.into_iter().filter_map(|step| step.kind).collect();
        assert_eq!(kinds, [Kind::Exclude(set(&["a"], &[])), Kind::Include(set(&["b"], &["planner"]))]);
    }
}
