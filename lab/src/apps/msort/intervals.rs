//! Intervals inside of each other: dividing something makes an interval of the one half and
//! does the other itself, and ends when both have ended.
//!
//! A sort is a root of its own, and so is its merge. For when a root has ended, what it has lent to
//! the halves is whole again, which no edge can say to the compiler: two slices are not joined.

use std::mem;

use locksley_intervals::{self as intervals, Context};

use super::split::{Into, MERGE_LEAF, SORT_LEAF, middle, runs};
use super::{fork_join, kernel};
use crate::fork::Serial;

/// Sorts `data` into one of the arrays; the other is left with parts of it. Called on a worker.
pub(super) fn sort(data: &mut [u32], scratch: &mut [u32], into: Into) {
    if data.len() <= SORT_LEAF {
        return fork_join::sort(&Serial, data, scratch, into);
    }
    let at = middle(data.len());
    {
        let (data_low, data_high) = data.split_at_mut(at);
        let (scratch_low, scratch_high) = scratch.split_at_mut(at);
        let halves = intervals::run("sort", |root| {
            root.interval("half").spawn(move |_| sort(data_high, scratch_high, into.other()));
            sort(data_low, scratch_low, into.other());
        });
        halves.expect("it is not cancelled");
    }
    let (from, to) = match into {
        Into::Data => (scratch, data),
        Into::Scratch => (data, scratch),
    };
    let (low, high) = from.split_at(at);
    intervals::run("merge", |root| merge(root, low, high, to)).expect("it is not cancelled");
}

/// Merges two sorted runs into `out`, which has room for both exactly.
fn merge<'env>(
    cx: &Context<'_, 'env>,
    mut left: &'env [u32],
    mut right: &'env [u32],
    mut out: &'env mut [u32],
) {
    while out.len() > MERGE_LEAF {
        let [low, high] = runs(left, right);
        let (out_low, out_high) = mem::take(&mut out).split_at_mut(low.0.len() + low.1.len());
        cx.interval("half").spawn(move |cx| merge(cx, high.0, high.1, out_high));
        (left, right, out) = (low.0, low.1, out_low);
    }
    kernel::merge(left, right, out);
}
