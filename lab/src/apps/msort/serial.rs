//! The serial program.

use super::kernel::{SMALLEST, merge, sort_few};
use super::split::{Into, middle};

/// Sorts `data` into one of the arrays; the other is left with parts of it.
pub(in crate::apps) fn sort(data: &mut [u32], scratch: &mut [u32], into: Into) {
    if data.len() <= SMALLEST {
        sort_few(data);
        if into == Into::Scratch {
            scratch.copy_from_slice(data);
        }
        return;
    }
    let at = middle(data.len());
    {
        let (data_low, data_high) = data.split_at_mut(at);
        let (scratch_low, scratch_high) = scratch.split_at_mut(at);
        sort(data_low, scratch_low, into.other());
        sort(data_high, scratch_high, into.other());
    }
    let (from, to) = match into {
        Into::Data => (scratch, data),
        Into::Scratch => (data, scratch),
    };
    let (low, high) = from.split_at(at);
    merge(low, high, to);
}
