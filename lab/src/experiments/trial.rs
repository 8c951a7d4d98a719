//! What the tests of experiments have in common.

use std::fmt::Debug;
use std::path::Path;

use crate::fault::{Fault, Outcome};
use crate::record::{Document, files};

/// A record is read as it was written, and says what it is.
#[track_caller]
pub(super) fn is_kept<R: Document + PartialEq + Debug>(record: &R) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.json");
    files::write(&path, record).unwrap();
    assert_eq!(files::read::<R>(&path).unwrap(), *record);
    assert_eq!(files::format_of(&path).as_deref(), Some(R::FORMAT));
    if R::FORMAT != crate::record::FORMAT {
        let as_cliff = files::read::<crate::record::Record>(&path);
        assert!(as_cliff.is_err(), "it is no record of a cliff");
    }
}

/// A record that was spoilt so is refused.
#[track_caller]
pub(super) fn is_refused<R: Document + Clone>(record: &R, spoil: impl FnOnce(&mut R)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.json");
    let mut spoilt = record.clone();
    spoil(&mut spoilt);
    files::write(&path, &spoilt).unwrap();
    assert!(matches!(files::read::<R>(&path), Err(Fault::Input(_))), "a spoilt record was read");
}

/// A run has failed with these words, and has left no record at `json`.
#[track_caller]
pub(super) fn has_failed<F: Debug>(ended: Outcome<F>, words: &str, json: &Path) {
    match ended {
        Err(Fault::Run(why)) => assert!(why.contains(words), "{why}"),
        other => panic!("it should have failed with '{words}': {other:?}"),
    }
    assert!(!json.exists());
}
