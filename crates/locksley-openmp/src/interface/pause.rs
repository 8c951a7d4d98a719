//! Releasing what the library holds between regions.

use std::ffi::c_int;

use super::read;
use crate::team::{member, release_threads};

fn pause() -> c_int {
    if member().is_some_and(|it| it.team().level > 0) {
        return -1;
    }
    release_threads();
    0
}

/// The host is device 0, and -2 by its own name.
fn pause_device(device: c_int) -> c_int {
    if device == 0 || device == -2 { pause() } else { -1 }
}

export! {
    omp_pause_resource(_kind: c_int, device: c_int) -> c_int {
        pause_device(device)
    }

    omp_pause_resource_(_kind: *const i32, device: *const i32) -> c_int {
        pause_device(read(device))
    }

    omp_pause_resource_all omp_pause_resource_all_() -> c_int {
        pause()
    }
}
