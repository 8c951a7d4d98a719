//! Fork-join of either library, or serial.

use super::kernel::{self, SMALLEST};
use super::split::{Into, MERGE_LEAF, SORT_LEAF, middle, runs};
use crate::fork::{Fork, Serial};

/// Sorts `data` into one of the arrays; the other is left with parts of it.
pub(in crate::apps) fn sort<F: Fork>(fork: &F, data: &mut [u32], scratch: &mut [u32], into: Into) {
    if data.len() <= SMALLEST {
        data.sort_unstable();
        if into == Into::Scratch {
            scratch.copy_from_slice(data);
        }
        return;
    }
    if F::IS_PARALLEL && data.len() <= SORT_LEAF {
        return sort(&Serial, data, scratch, into);
    }
    let at = middle(data.len());
    {
        let (data_low, data_high) = data.split_at_mut(at);
        let (scratch_low, scratch_high) = scratch.split_at_mut(at);
        fork.join(
            |fork| sort(fork, data_low, scratch_low, into.other()),
            |fork| sort(fork, data_high, scratch_high, into.other()),
        );
    }
    let (from, to) = match into {
        Into::Data => (scratch, data),
        Into::Scratch => (data, scratch),
    };
    let (low, high) = from.split_at(at);
    merge(fork, low, high, to);
}

/// Merges two sorted runs into `out`, which has room for both exactly.
fn merge<F: Fork>(fork: &F, left: &[u32], right: &[u32], out: &mut [u32]) {
    if !F::IS_PARALLEL || out.len() <= MERGE_LEAF {
        return kernel::merge(left, right, out);
    }
    let [low, high] = runs(left, right);
    let (out_low, out_high) = out.split_at_mut(low.0.len() + low.1.len());
    fork.join(
        |fork| merge(fork, low.0, low.1, out_low),
        |fork| merge(fork, high.0, high.1, out_high),
    );
}
