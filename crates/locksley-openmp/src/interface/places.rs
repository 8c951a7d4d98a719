//! Places, and what the calling thread is bound to.

use std::ffi::c_int;

use super::{narrow, read, write};
use crate::environment::settings;
use crate::team::{current, with_task};

fn place(number: c_int) -> &'static [usize] {
    let number = usize::try_from(number).ok();
    number.and_then(|it| settings().places.get(it)).map_or(&[], Vec::as_slice)
}

/// Writes numbers to the program's array, which has room for them: it has asked how many there are.
fn write_all<T>(numbers: impl Iterator<Item = usize>, to: *mut T, convert: impl Fn(usize) -> T) {
    numbers.enumerate().for_each(|(at, number)| write(to.wrapping_add(at), convert(number)));
}

fn write_processors<T>(number: c_int, to: *mut T, convert: impl Fn(usize) -> T) {
    write_all(place(number).iter().copied(), to, convert);
}

fn write_partition<T>(to: *mut T, convert: impl Fn(usize) -> T) {
    let place = current().place.get();
    write_all((0..place.count).map(|it| (place.first + it) as usize), to, convert);
}

nullary! { c_int;
    omp_get_proc_bind omp_get_proc_bind_ => with_task(|it| it.icvs()).bind;
    omp_get_num_places omp_get_num_places_ => settings().places.len() as c_int;
    omp_get_partition_num_places omp_get_partition_num_places_ =>
        current().place.get().count.cast_signed();
}

export! {
    omp_get_place_num omp_get_place_num_() -> c_int {
        let place = current().place.get();
        if place.count == 0 { -1 } else { place.number.cast_signed() }
    }

    omp_get_place_proc_ids(number: c_int, to: *mut c_int) -> () {
        write_processors(number, to, |it| it as c_int);
    }

    omp_get_place_proc_ids_(number: *const i32, to: *mut i32) -> () {
        write_processors(read(number), to, |it| it as i32);
    }

    omp_get_place_proc_ids_8_(number: *const i64, to: *mut i64) -> () {
        write_processors(narrow(read(number)), to, |it| it as i64);
    }

    omp_get_partition_place_nums omp_get_partition_place_nums_(to: *mut c_int) -> () {
        write_partition(to, |it| it as c_int);
    }

    omp_get_partition_place_nums_8_(to: *mut i64) -> () {
        write_partition(to, |it| it as i64);
    }
}

of_a_number! { c_int =>
    omp_get_place_num_procs omp_get_place_num_procs_ omp_get_place_num_procs_8_
        |number| place(number).len() as c_int;
}
