//! Names of labels. In a file, a name is a byte with the length, and its bytes.

/// The names in the bytes of a table.
pub(crate) fn names(mut bytes: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    while let Some((&length, rest)) = bytes.split_first() {
        let Some((name, rest)) = rest.split_at_checked(length.into()) else { break };
        names.push(String::from_utf8_lossy(name).into_owned());
        bytes = rest;
    }
    names
}

/// The name of the counter of a worker's deque.
pub(crate) fn deque_name(pool: u32, slot: u32) -> String {
    format!("pool {pool}: tasks of {slot}")
}
