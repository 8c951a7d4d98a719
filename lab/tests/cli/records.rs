//! The records that are kept make their pages.

use std::path::Path;

use crate::support::stdout_of;

#[test]
fn every_record_makes_its_page() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path().to_str().unwrap();
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("record");
    let folders = std::fs::read_dir(records).unwrap().map(|folder| folder.unwrap().path());
    let mut number = 0;
    for folder in folders.filter(|path| path.is_dir()) {
        let records = std::fs::read_dir(folder).unwrap().map(|record| record.unwrap().path());
        // A folder beside them has what was measured without an experiment.
        for path in records.filter(|path| path.is_file()) {
            let text = stdout_of(&["report", "--json", path.to_str().unwrap(), "--out", out]);
            let page = std::fs::read_to_string(Path::new(out).join("index.html")).unwrap();
            assert!(text.contains("page ") && page.contains("<h1>"), "{}", path.display());
            number += 1;
        }
    }
    assert!(number > 0);
}
