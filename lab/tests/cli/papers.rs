//! The papers, item by item.

use serde_json::Value;

use crate::support::{assert_refused, locksley, stdout_of};

#[test]
fn papers_lists_every_item_and_writes_the_page_and_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (out, json) = (path("out"), path("papers.json"));
    let text = stdout_of(&["papers", "--out", &out, "--json", &json]);
    let page = std::fs::read_to_string(folder.path().join("out/index.html")).unwrap();
    let data: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let papers = data.as_array().unwrap();
    assert_eq!(papers.len(), 5);
    for item in papers.iter().flat_map(|paper| paper["items"].as_array().unwrap()) {
        let id = item["id"].as_str().unwrap();
        assert!(text.contains(id) && page.contains(id), "{id}");
        for (name, is_needed) in [("verdict", true), ("record", false), ("command", false)] {
            let field = &item[name];
            assert!(field.is_string() || !is_needed && field.is_null(), "{id}: {name}");
        }
        let here = item["here"].as_str().unwrap();
        assert!(!here.contains(['{', '}']), "{id} has a figure that is not computed: {here}");
    }
    // Of 28 pairs, in the record of this item.
    let mut items = papers.iter().flat_map(|paper| paper["items"].as_array().unwrap());
    let pairs = items.find(|item| item["id"] == "bws-fig2").unwrap();
    assert!(pairs["here"].as_str().unwrap().contains("of each of 28 pairs"), "{pairs}");
}

#[test]
fn an_item_is_done_again_by_its_command() {
    assert_eq!(stdout_of(&["papers", "--run", "bws-table1"]), stdout_of(&["apps"]));
    assert_refused(&locksley(&["papers", "--run", "bws-fig7"]), "bws-fig7");
    assert_refused(&locksley(&["papers", "--run", "hood-library-semaphore"]), "no command");
    assert_refused(&locksley(&["papers", "--quick"]), "--run");
    // The command has no options, and is given all, wherever they stand.
    for option in [&["--quick"][..], &["--seed", "7"], &["--json", "file"], &["--out", "folder"]] {
        for run in [&["--run", "bws-table1"][..], &["--run=bws-table1"]] {
            for arguments in [[option, run].concat(), [run, option].concat()] {
                let arguments = [&["papers"], &arguments[..]].concat();
                assert_refused(&locksley(&arguments), option[0]);
            }
        }
    }
    assert_refused(&locksley(&["papers", "--run", "bws-table1", "--repeats", "2"]), "--repeats");
    // This one is quick anyway.
    let again = ["papers", "--quick", "--run", "lassi-jgf", "--repeats", "0"];
    assert_refused(&locksley(&again), "a repetition");
}
