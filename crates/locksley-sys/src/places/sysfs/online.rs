//! Which processors there are.

use super::super::{ProcessorSet, TopologyError};
use super::PROCESSORS;
use super::files::{Files, numbered};

/// The processors that are online, and those that are there and offline.
pub(super) fn processors(
    files: &mut Files<'_>,
) -> Result<(ProcessorSet, ProcessorSet), TopologyError> {
    let path = files.at(PROCESSORS);
    let there = numbered(&path, "cpu");
    let there: ProcessorSet = match there {
        Ok(numbers) => numbers.into_iter().collect(),
        Err(source) => return Err(TopologyError::Unreadable { path, source }),
    };
    // Kernels before 2.6.26 have no list. Some containers have a list and no folders.
    let listed = files.list(&format!("{PROCESSORS}/online")).filter(|list| !list.is_empty());
    let mut online = listed.unwrap_or_else(|| there.clone());
    let is_off = |processor: &usize| {
        files.text(&format!("{PROCESSORS}/cpu{processor}/online")).is_some_and(|text| text == "0")
    };
    let off: ProcessorSet = online.iter().filter(is_off).collect();
    online = online.difference(&off);
    if online.is_empty() {
        return Err(TopologyError::NoProcessors { path });
    }
    let offline = there.difference(&online);
    Ok((online, offline))
}
