//! Places (OpenMP 5.0, section 6.5): sets of processors, by number or by an abstract name.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_int, c_void};

use locksley_sys::os::Processors;
use locksley_sys::places::{Kind, Topology};

use super::warn;

/// The number of threads that use all processors that affinity and quota allow. Where there are
/// places, their processors count: the program's threads are bound to them.
pub(crate) fn processors(places: &[Vec<usize>]) -> u32 {
    let allowed = Processors::allowed();
    let distinct: BTreeSet<_> = places.iter().flatten().collect();
    let quota = allowed.quota().map_or(f64::INFINITY, |it| it.processors);
    let capacity =
        if places.is_empty() { allowed.capacity() } else { quota.min(distinct.len() as f64) };
    capacity.ceil().max(1.0) as u32
}

/// A place for each processor.
pub(super) fn of_processors() -> Vec<Vec<usize>> {
    Processors::allowed().ids().iter().map(|&it| vec![it]).collect()
}

/// The places that libgomp has, which is loaded, too, and may have bound this thread to the first.
pub(super) fn of_libgomp() -> Vec<Vec<usize>> {
    let (Some(count), Some(size), Some(processors)) = (
        next_symbol(c"omp_get_num_places"),
        next_symbol(c"omp_get_place_num_procs"),
        next_symbol(c"omp_get_place_proc_ids"),
    ) else {
        return Vec::new();
    };
    // SAFETY: the signatures of `omp.h`, here and in the next two lines.
    let count: extern "C" fn() -> c_int = unsafe { std::mem::transmute(count) };
    // SAFETY: as above.
    let size: extern "C" fn(c_int) -> c_int = unsafe { std::mem::transmute(size) };
    // SAFETY: as above.
    let processors: extern "C" fn(c_int, *mut c_int) = unsafe { std::mem::transmute(processors) };
    let place = |number| {
        let mut numbers = vec![0; usize::try_from(size(number)).unwrap_or(0)];
        processors(number, numbers.as_mut_ptr());
        numbers.into_iter().filter_map(|it| usize::try_from(it).ok()).collect()
    };
    (0..count()).map(place).collect()
}

/// The definition of a symbol behind this library's.
fn next_symbol(name: &CStr) -> Option<*mut c_void> {
    unsafe extern "C" {
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    const NEXT: *mut c_void = usize::MAX as *mut c_void;
    // SAFETY: the name ends with a zero.
    let found = unsafe { dlsym(NEXT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Reads GOMP_CPU_AFFINITY: numbers and ranges `first-last[:stride]`, each processor a place.
pub(super) fn parse_processors(text: &str) -> Option<Vec<Vec<usize>>> {
    let allowed = Processors::allowed().ids().to_vec();
    let places = ranges(text)?.into_iter().filter(|it| allowed.contains(it));
    Some(places.map(|it| vec![it]).collect()).filter(|it: &Vec<_>| !it.is_empty())
}

fn ranges(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for range in text.split([' ', '\t', ',']).filter(|it| !it.is_empty()) {
        let (first, rest) = leading_number(range)?;
        let (last, rest) = match rest.strip_prefix('-') {
            Some(rest) => leading_number(rest).filter(|(last, _)| *last >= first)?,
            None => (first, rest),
        };
        let stride = match rest.strip_prefix(':') {
            Some(stride) => stride.parse().ok().filter(|&it| it > 0)?,
            None if rest.is_empty() => 1,
            None => return None,
        };
        numbers.extend((first..=last).step_by(stride));
    }
    Some(numbers)
}

/// Reads OMP_PLACES. `None` if the value is invalid, or no processor of it is allowed.
pub(super) fn parse(text: &str) -> Option<Vec<Vec<usize>>> {
    let allowed = Processors::allowed().ids().to_vec();
    let text: String = text.chars().filter(|it| !it.is_whitespace()).collect();
    let places = if text.starts_with(['{', '!']) || text.starts_with(|it: char| it.is_ascii_digit())
    {
        explicit(&text)?
    } else {
        named(&text.to_ascii_lowercase(), &allowed)?
    };
    let keep = |place: Vec<usize>| -> Vec<usize> {
        place.into_iter().filter(|it| allowed.contains(it)).collect()
    };
    let all = places.len();
    let places: Vec<_> = places.into_iter().map(keep).filter(|it| !it.is_empty()).collect();
    if places.len() < all && !places.is_empty() {
        let some = "because some places didn't contain any usable logical CPUs";
        warn(&format!("Number of places reduced from {all} to {} {some}", places.len()));
    }
    (!places.is_empty()).then_some(places)
}

fn named(text: &str, allowed: &[usize]) -> Option<Vec<Vec<usize>>> {
    let (name, count) = match text.split_once('(') {
        None => (text, usize::MAX),
        Some((name, rest)) => (name, rest.strip_suffix(')')?.parse().ok().filter(|&it| it > 0)?),
    };
    let machine = Topology::of_this_machine();
    let kind = match name {
        "threads" => return Some(of_processors().into_iter().take(count).collect()),
        "cores" => Kind::Core,
        "sockets" => Kind::Package,
        "numa_domains" => Kind::Memory,
        "ll_caches" => Kind::L3,
        _ => return None,
    };
    let mut places: Vec<Vec<usize>> = Vec::new();
    let mut left = allowed.to_vec();
    while let Some(&first) = left.first() {
        let region = machine.level(kind).and_then(|level| level.region_of(first));
        let is_in =
            |it: &usize| region.map_or(*it == first, |region| region.processors.contains(*it));
        places.push(left.iter().copied().filter(is_in).collect());
        left.retain(|it| !is_in(it));
    }
    places.truncate(count);
    Some(places)
}

/// `[!]place[:count[:stride]],...`, where a place is a number or `{number[:count[:stride]],...}`.
fn explicit(text: &str) -> Option<Vec<Vec<usize>>> {
    let mut places: Vec<Vec<usize>> = Vec::new();
    let mut rest = text;
    loop {
        let is_excluded = rest.starts_with('!');
        rest = rest.trim_start_matches('!');
        let place;
        (place, rest) = one_place(rest)?;
        let (count, stride);
        (count, stride, rest) = interval(rest)?;
        if is_excluded {
            if count != 1 {
                return None;
            }
            places.retain(|it| *it != place);
        }
        for step in 0..count * usize::from(!is_excluded) {
            let shift = isize::try_from(step).ok()?.checked_mul(stride)?;
            let moved: Option<Vec<_>> =
                place.iter().map(|&it| it.checked_add_signed(shift)).collect();
            places.extend(moved);
        }
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None => return rest.is_empty().then_some(places),
        }
    }
}

fn one_place(text: &str) -> Option<(Vec<usize>, &str)> {
    let Some(inner) = text.strip_prefix('{') else {
        let (number, rest) = leading_number(text)?;
        return Some((vec![number], rest));
    };
    let (mut processors, mut rest) = (Vec::new(), inner);
    loop {
        let is_excluded = rest.starts_with('!');
        let (first, after) = leading_number(rest.trim_start_matches('!'))?;
        let (count, stride, after) = interval(after)?;
        if is_excluded {
            processors.retain(|it| *it != first);
        } else {
            let shift = |step: usize| {
                first.checked_add_signed(isize::try_from(step).ok()?.checked_mul(stride)?)
            };
            processors.extend((0..count).map(shift).collect::<Option<Vec<_>>>()?);
        }
        if let Some(after) = after.strip_prefix('}') {
            return Some((processors, after));
        }
        rest = after.strip_prefix(',')?;
    }
}

/// `[:count[:stride]]`; without it, 1 and 1.
fn interval(text: &str) -> Option<(usize, isize, &str)> {
    let Some(rest) = text.strip_prefix(':') else { return Some((1, 1, text)) };
    let (count, rest) = leading_number(rest)?;
    let is_sane = (1..=65536).contains(&count);
    let Some(after) = rest.strip_prefix(':') else { return is_sane.then_some((count, 1, rest)) };
    let is_negative = after.starts_with('-');
    let (stride, rest) = leading_number(after.trim_start_matches(['-', '+']))?;
    let stride = isize::try_from(stride).ok()?;
    is_sane.then_some((count, if is_negative { -stride } else { stride }, rest))
}

fn leading_number(text: &str) -> Option<(usize, &str)> {
    let end = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_have_ranges_and_strides() {
        assert_eq!(ranges("0 3,1-2 4-9:2"), Some(vec![0, 3, 1, 2, 4, 6, 8]));
        for wrong in ["x", "0 1-", "3-1", "0-4:0", "1:2x"] {
            assert_eq!(ranges(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn each_processor_of_the_places_counts_once() {
        let allowed = Processors::allowed();
        assert_eq!(processors(&[]) as usize, allowed.count());
        let most = allowed.quota().map_or(2, |it| it.processors.ceil() as u32);
        assert_eq!(processors(&[vec![0], vec![0, 7], vec![7]]), most.min(2));
    }

    #[test]
    fn explicit_places_have_intervals_and_exclusions() {
        assert_eq!(explicit("{0,1},{2:2}"), Some(vec![vec![0, 1], vec![2, 3]]));
        assert_eq!(explicit("{6,7}:4:-2,!{2,3}"), Some(vec![vec![6, 7], vec![4, 5], vec![0, 1]]));
        assert_eq!(explicit("{0:4:2}"), Some(vec![vec![0, 2, 4, 6]]));
        assert_eq!(explicit("{0:4,!2}"), Some(vec![vec![0, 1, 3]]));
        assert_eq!(explicit("1:3"), Some(vec![vec![1], vec![2], vec![3]]));
        for wrong in ["{0}:0", "{", "{0", "{0},", "{x}", "{0}x"] {
            assert_eq!(explicit(wrong), None, "{wrong}");
        }
    }
}
