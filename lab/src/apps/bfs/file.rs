//! Edges from a text file, as collections of graphs keep them: a line for each edge, with the
//! numbers of its two ends; lines that begin with '#' or '%' are comments.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::graph::{Edges, Vertex};

/// The edges in a file, or one line that says why there are none.
pub(super) fn read(path: &Path) -> Result<Edges, String> {
    let failed = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
    let file = BufReader::new(File::open(path).map_err(failed)?);
    let mut pairs = Vec::new();
    for (number, line) in (1..).zip(file.lines()) {
        let line = line.map_err(failed)?;
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '%']) {
            continue;
        }
        let edge = edge(line).ok_or_else(|| {
            format!("line {number} of {} is not two vertices' numbers", path.display())
        })?;
        pairs.push(edge);
    }
    if pairs.is_empty() {
        return Err(format!("{} has no edges", path.display()));
    }
    renumbered(&pairs).ok_or_else(|| format!("{} has too many vertices", path.display()))
}

/// The two numbers in a line. More columns, such as weights, are not meant here.
fn edge(line: &str) -> Option<[u64; 2]> {
    let mut words = line.split_whitespace();
    let edge = [words.next()?.parse().ok()?, words.next()?.parse().ok()?];
    words.next().is_none().then_some(edge)
}

/// The edges between vertices that are numbered without gaps.
fn renumbered(pairs: &[[u64; 2]]) -> Option<Edges> {
    let mut names: Vec<u64> = pairs.as_flattened().to_vec();
    names.sort_unstable();
    names.dedup();
    // The last number is kept free: it means that a vertex has no parent.
    Vertex::try_from(names.len()).ok()?;
    let number = |name: u64| names.partition_point(|&other| other < name) as Vertex;
    let list = pairs.iter().map(|pair| pair.map(number)).collect();
    Some(Edges { vertices: names.len(), list })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Edges, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph.txt");
        std::fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn edges_are_read_and_vertices_renumbered() {
        let edges =
            read_text("# a comment\n10 7\n\n7\t99999999999\r\n% another\n 10 10 \n").unwrap();
        assert_eq!(edges.vertices, 3);
        assert_eq!(edges.list, [[1, 0], [0, 2], [1, 1]]);
    }

    #[test]
    fn what_is_no_list_of_edges_is_refused_in_one_line() {
        for (text, reason) in [
            ("", "no edges"),
            ("# nothing\n", "no edges"),
            ("1 2\n3\n", "line 2"),
            ("1 -2\n", "line 1"),
            ("1 2 0.5\n", "line 1"),
            ("a b\n", "line 1"),
            ("1 99999999999999999999\n", "line 1"),
        ] {
            let refusal = read_text(text).unwrap_err();
            assert!(refusal.contains(reason) && refusal.lines().count() == 1, "{refusal}");
        }
        assert!(read(Path::new("/nowhere/graph.txt")).unwrap_err().contains("cannot be read"));
        assert!(read(&std::env::temp_dir()).unwrap_err().contains("cannot be read"));
    }
}
