//! Releasing what the library holds between regions.

use std::ffi::c_int;

use super::device::is_host;
use super::read;
use crate::team::{member, release_threads};

fn pause() -> c_int {
    if member().is_some_and(|it| it.team().level > 0) {
        return -1;
    }
    release_threads();
    0
}

fn pause_device(device: c_int) -> c_int {
    if is_host(device) { pause() } else { -1 }
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
