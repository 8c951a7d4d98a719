//! The answer is known in closed form.

use super::node::Shape;

/// Whether `count` is the number of nodes of the tree.
pub(super) fn count(shape: &Shape, count: u64) -> Result<(), String> {
    if count == shape.nodes {
        Ok(())
    } else {
        Err(format!("{count} nodes were counted in a tree of {}", shape.nodes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_count_is_rejected() {
        let shape = Shape::new(4, 3, 1).unwrap();
        assert_eq!(shape.nodes, 1 + 3 + 9 + 27);
        assert!(count(&shape, 40).is_ok());
        assert!(count(&shape, 39).is_err());
        assert!(count(&shape, 0).is_err());
    }

    #[test]
    fn a_tree_that_cannot_be_is_refused() {
        for (height, degree, series) in [(0, 2, 0), (65, 1, 0), (64, 3, 0), (3, 0, 0), (3, 2, 3)] {
            assert!(Shape::new(height, degree, series).is_err(), "{height},{degree},{series}");
        }
    }
}
