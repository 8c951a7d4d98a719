//! The names of labels, as they lie in a file: a byte with the length, and the bytes of the name.

/// The names in the bytes of a table.
pub(crate) fn names(mut bytes: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    while let Some((&length, rest)) = bytes.split_first()
        && let Some((name, rest)) = rest.split_at_checked(length.into())
    {
        names.push(String::from_utf8_lossy(name).into_owned());
        bytes = rest;
    }
    names
}
