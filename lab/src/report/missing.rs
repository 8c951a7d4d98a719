//! What is missing on a page, and why.

use super::page::escape;
use crate::experiments::missing::Missing;

/// A paragraph of it; nothing where nothing is missing.
pub(super) fn html(missing: &[Missing]) -> String {
    let line =
        |missing: &Missing| format!("<p class=\"warning\">{}</p>\n", escape(&missing.line()));
    missing.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::html;
    use crate::experiments::missing::tests::example;

    #[test]
    fn each_gap_has_a_paragraph_and_its_reason_cannot_become_markup() {
        assert!(html(&[]).is_empty());
        let page = html(&[example(), example()]);
        assert_eq!(page.matches("missing: stream 9 on other, P = 2: it ended &lt;").count(), 2);
        assert!(!page.contains("<badly>"));
    }
}
