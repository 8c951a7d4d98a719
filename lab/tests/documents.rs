//! The documents: links lead to files and headings that exist, each chapter and picture of the
//! guide is reached, and all together are short enough to be read.

use std::fs;
use std::path::{Path, PathBuf};

/// The most words that all documents may have together, as `wc -w` counts them.
const WORDS: usize = 27_000;

/// The root folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the laboratory lies in the root").into()
}

/// Adds all files below a folder that have one of the extensions. What builds make is left out.
fn files(folder: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    if folder.join("CACHEDIR.TAG").exists() || folder.join("pyvenv.cfg").exists() {
        return;
    }
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_symlink() || ["target", "out", ".git"].contains(&&*name) {
            continue;
        } else if path.is_dir() {
            files(&path, extensions, found);
        } else if path.extension().is_some_and(|it| extensions.iter().any(|e| it == *e)) {
            found.push(path);
        }
    }
}

fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&root(), &["md"], &mut found);
    found.sort();
    found
}

/// The lines of a document without its code.
fn prose(text: &str) -> Vec<String> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            lines.push(line.split('`').step_by(2).collect());
        }
    }
    lines
}

/// Where the links of a document lead.
fn links(text: &str) -> Vec<String> {
    let text = prose(text).join("\n");
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(str::to_owned).collect()
}

/// The names by which a document's headings are linked.
fn headings(text: &str) -> Vec<String> {
    let name = |heading: &str| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    let mut in_code = false;
    let lines = text.lines().filter(|line| {
        in_code ^= line.starts_with("```");
        !in_code && line.starts_with('#')
    });
    lines.map(|line| name(line.trim_start_matches('#').trim())).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    let mut seen = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let all = links(&text);
        for link in all.iter().filter(|it| !it.contains("://") && !it.starts_with("mailto:")) {
            seen += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => document.clone(),
                _ => document.parent().unwrap().join(file),
            };
            let has_heading =
                || headings(&fs::read_to_string(&target).unwrap()).iter().any(|it| it == heading);
            if !target.exists() || (!heading.is_empty() && !has_heading()) {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(seen > 50, "only {seen} links were found");
}

#[test]
fn each_chapter_and_picture_is_reached() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let chapters = links(&summary);
    let mut guide = Vec::new();
    files(&docs.join("guide"), &["md"], &mut guide);
    for chapter in guide {
        let name = chapter.strip_prefix(&docs).unwrap().to_str().unwrap();
        assert!(chapters.iter().any(|it| it == name), "{name} is in no summary");
    }
    let text: String = documents().iter().map(|it| fs::read_to_string(it).unwrap()).collect();
    let mut pictures = Vec::new();
    files(&docs, &["svg", "png"], &mut pictures);
    for picture in pictures {
        let name = picture.file_name().unwrap().to_str().unwrap();
        assert!(text.contains(name), "no document shows {name}");
    }
}

#[test]
fn documents_are_short() {
    let words = |path: &Path| fs::read_to_string(path).unwrap().split_whitespace().count();
    let all: usize = documents().iter().map(|it| words(it)).sum();
    assert!(all <= WORDS, "{all} words");
    let readme = root().join("README.md");
    assert!(words(&readme) < 900, "{} words in the README", words(&readme));
    assert!(fs::read_to_string(&readme).unwrap().lines().count() <= 120);
}

#[test]
fn links_and_headings_are_read_as_written() {
    let text = "# `one`: two, (three)\n[a](b.md#c) and `[not](this)`\n```\n# x [no](n)\n```\n";
    assert_eq!(links(text), ["b.md#c"]);
    assert_eq!(headings(text), ["one-two-three"]);
}
