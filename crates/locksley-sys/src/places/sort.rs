//! One sort for all types.

/// Sorts by two numbers. Items with the same ones keep their order.
///
/// Only numbers are moved by the sort of the standard library, which is large, so that it is
/// compiled once for all types of items.
pub(super) fn sort_by_key<T>(items: &mut Vec<T>, key: impl Fn(&T) -> (usize, usize)) {
    let mut order: Vec<_> = items.iter().map(key).zip(0..items.len()).collect();
    order.sort_unstable();
    let mut unsorted: Vec<Option<T>> = items.drain(..).map(Some).collect();
    items.extend(order.iter().filter_map(|&(_, position)| unsorted[position].take()));
}
