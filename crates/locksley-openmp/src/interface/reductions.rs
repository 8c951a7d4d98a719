//! Reductions that tasks take part in, and constructs that begin with them.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use super::tasks::{begin_group, end_group};
use super::{read, write};
use crate::shares::{Doacross, Plan, Preparation};
use crate::tasks::{Group, Reductions};
use crate::team::{Member, current};

/// A descriptor of reductions, or null; and where the compiler says how much shared memory it
/// wants, and expects its address, or null.
pub(super) type Extras = (*mut usize, *mut *mut c_void);

pub(super) const NO_EXTRAS: Extras = (ptr::null_mut(), ptr::null_mut());

/// The group of a whole region's reductions.
pub(super) fn register_for_region(descriptor: *mut usize, size: u32) -> Arc<Group> {
    let group = Group::new(None);
    group.register(descriptor, size, None);
    group.mark_as_of_share();
    Arc::new(group)
}

/// Begins a construct that the team shares. `doacross` are loops that wait for each other's
/// iterations: how many the team shares, and the numbers for [`Doacross`]. The pointers are the
/// compiler's, or null.
pub(super) fn begin_share(
    member: &Member,
    plan: Option<Plan>,
    doacross: Option<(u64, &[u64])>,
    (descriptor, memory): Extras,
) {
    let (team, position) = (member.team(), &member.position);
    let size = if memory.is_null() { 0 } else { read(memory) as usize };
    let prepare = |reductions| {
        // A team of one executes all iterations in their order.
        let doacross = doacross
            .filter(|_| team.size > 1)
            .map(|(shared, counts)| Doacross::new(shared, counts));
        Preparation { plan, doacross, memory: size, reductions }
    };
    if descriptor.is_null() {
        team.shares.advance(position, || prepare(None));
    } else {
        let group = begin_group(member);
        group.mark_as_of_share();
        team.reductions.acquire();
        let is_first = team.shares.advance(position, || {
            group.register(descriptor, team.size, None);
            prepare(Some(descriptor))
        });
        if !is_first {
            let first = Reductions::new(position.current().reductions());
            group.register(descriptor, team.size, Some(first));
        }
        team.reductions.release();
    }
    write(memory, position.current().memory());
}

export! {
    GOMP_taskgroup_reduction_register(descriptor: *mut usize) -> () {
        register_in_group(current(), descriptor);
    }

    GOMP_taskgroup_reduction_unregister(descriptor: *mut usize) -> () {
        Reductions::new(descriptor).unregister();
    }

    GOMP_workshare_task_reduction_unregister(is_cancelled: bool) -> () {
        let member = current();
        let group = member.with_task(|it| it.group());
        let reductions = group.map(|it| it.reductions());
        end_group(member);
        if let Some(reductions) = reductions.filter(|_| member.number == 0) {
            reductions.unregister();
        }
        if !is_cancelled {
            member.team().wait_at_barrier(member);
        }
    }

    GOMP_task_reduction_remap(count: usize, with_original: usize, list: *mut *mut c_void) -> () {
        let member = current();
        let Some(group) = member.with_task(|it| it.group()) else { return };
        for number in 0..count {
            // The compiler's list has that many pointers.
            let pointer = list.wrapping_add(number);
            let address = read(pointer) as usize;
            let found = group.reductions().find(address, member.number as usize);
            let Some((copy, original)) = found else {
                crate::messages::fatal(&format!(
                    "couldn't find matching task_reduction or reduction with task modifier for \
                     {address:#x}"
                ));
            };
            write(pointer, copy as *mut c_void);
            if number < with_original {
                // It has so many more for the variables.
                write(list.wrapping_add(count + number), original as *mut c_void);
            }
        }
    }
}

/// Registers reductions of the innermost group.
pub(super) fn register_in_group(member: &Member, descriptor: *mut usize) {
    let Some(group) = member.with_task(|it| it.group()) else { return };
    group.register(descriptor, member.team().size, None);
}
