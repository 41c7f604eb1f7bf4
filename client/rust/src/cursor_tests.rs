use super::*;
use crate::messages::{text_of, user};
use crate::v1::{Checkpoint, Compaction, CompactionNotice, EventBatch, SessionChange, SessionVersions};

fn session(id: &str) -> SessionRef {
    SessionRef { app: "a".into(), user_id: "u".into(), session_id: id.into() }
}

fn change(id: &str, version: i64, kind: Kind) -> Change {
    Change {
        session: Some(session(id)),
        kind: Some(kind),
        resume_token: format!("{id}-{version}"),
        versions: (version > 0).then(|| SessionVersions { log_version: version, ..Default::default() }),
        ..Default::default()
    }
}

fn batch(texts: &[&str], continues: bool) -> Kind {
    Kind::Batch(EventBatch { events: texts.iter().map(|text| user(*text)).collect(), continues, ..Default::default() })
}

fn part(texts: &[&str]) -> Change {
    Change { resume_token: "before".into(), ..change("s", 0, batch(texts, true)) }
}

fn texts(change: &Change) -> Vec<String> {
    match &change.kind {
        Some(Kind::Batch(batch)) => batch.events.iter().map(text_of).collect(),
        Some(Kind::Compaction(notice)) => notice.inserted.iter().map(text_of).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn parts_of_an_append_are_joined_with_the_token_of_the_last() {
    let mut cursor = Cursor::default();
    assert_eq!(cursor.take(part(&["1", "2"])), None);
    assert_eq!(cursor.take(part(&["3"])), None);
    assert_eq!(cursor.resume(), None, "no change is whole yet");
    assert_eq!(cursor.take(part(&["1", "2"])), None);
    assert_eq!(cursor.take(part(&["3"])), None);
    let whole = cursor.take(change("s", 1, batch(&["4"], false))).expect("it is whole");
    assert_eq!(texts(&whole), ["1", "2", "3", "4"]);
    assert_eq!(whole.resume_token, "s-1");
    assert_eq!(cursor.resume(), Some("s-1"));
}

#[test]
fn parts_of_a_compaction_are_joined_with_the_record_of_the_first() {
    let mut cursor = Cursor::default();
    let notice = |record: Option<&str>, text: &str, continues| {
        let compaction = record.map(|id| Compaction { compaction_id: id.into(), ..Default::default() });
        Kind::Compaction(CompactionNotice { compaction, inserted: vec![user(text)], continues })
    };
    assert_eq!(cursor.take(change("s", 0, notice(Some("c1"), "1", true))), None);
    let whole = cursor.take(change("s", 3, notice(None, "2", false))).expect("it is whole");
    assert_eq!(texts(&whole), ["1", "2"]);
    let Some(Kind::Compaction(notice)) = whole.kind else { panic!("no compaction") };
    assert_eq!(notice.compaction.expect("a record").compaction_id, "c1");
}

#[test]
fn a_checkpoint_between_parts_advances_the_token_and_keeps_the_parts() {
    let mut cursor = Cursor::default();
    cursor.take(part(&["1"]));
    let checkpoint = Change { session: None, ..change("now", 0, Kind::Checkpoint(Checkpoint::default())) };
    assert!(cursor.take(checkpoint).is_some());
    assert_eq!(texts(&cursor.take(change("s", 1, batch(&["2"], false))).expect("whole")), ["1", "2"]);
}

#[test]
fn repetitions_are_dropped_and_their_tokens_used() {
    let mut cursor = Cursor::default();
    assert!(cursor.take(change("s", 2, batch(&["1"], false))).is_some());
    assert_eq!(cursor.take(change("s", 2, batch(&["1"], false))), None);
    assert_eq!(cursor.take(change("s", 1, batch(&["0"], false))), None);
    assert!(cursor.take(change("other", 1, batch(&["1"], false))).is_some());
    assert!(cursor.take(change("s", 3, batch(&["2"], false))).is_some());
    assert_eq!(cursor.resume(), Some("s-3"));
}

#[test]
fn a_session_that_is_created_again_resets_its_versions() {
    let reported = |kind: SessionChangeKind| Kind::SessionChange(SessionChange { kind: kind.into(), session: None });
    let mut cursor = Cursor::default();
    assert!(cursor.take(change("s", 5, batch(&["1"], false))).is_some());
    assert!(cursor.take(change("s", 0, reported(SessionChangeKind::Updated))).is_some());
    assert_eq!(cursor.take(change("s", 5, batch(&["1"], false))), None, "an update is no new beginning");
    assert!(cursor.take(change("s", 0, reported(SessionChangeKind::Deleted))).is_some());
    assert!(cursor.take(change("s", 1, batch(&["1"], false))).is_some());
}

#[test]
fn an_unknown_kind_is_skipped_and_its_token_used() {
    let mut cursor = Cursor::default();
    assert_eq!(cursor.take(Change { resume_token: "t".into(), ..Default::default() }), None);
    assert_eq!(cursor.resume(), Some("t"));
}

#[test]
fn versions_of_the_least_recent_sessions_are_dropped() {
    let mut versions = Versions::default();
    for n in 0..=REMEMBERED {
        assert!(versions.grow(&session(&n.to_string()), 1));
    }
    assert!(!versions.grow(&session("1"), 1), "so many are remembered");
    assert!(versions.grow(&session("0"), 2), "it changed, and is young again");
    for n in 0..REMEMBERED {
        assert!(versions.grow(&session(&format!("new {n}")), 1));
    }
    assert!(!versions.grow(&session("0"), 2));
    assert!(versions.grow(&session("1"), 1), "it is long ago");
    assert!(versions.young.len() + versions.old.len() <= 2 * REMEMBERED);
}
