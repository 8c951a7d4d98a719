//! Places (OpenMP 5.0, section 6.5): sets of processors, by number or by an abstract name.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use locksley_sys::os::Processors;
use locksley_sys::places::{Kind, Topology};

use super::text::{Text, list};
use crate::messages::warn;

/// How many threads use all processors that this process has, and how many of them its quota
/// allows, rounded up. Where there are places, their processors count: the program's threads are
/// bound to them.
pub(crate) fn processors(places: &[Vec<usize>]) -> (u32, u32) {
    let allowed = Processors::allowed();
    let distinct: BTreeSet<_> = places.iter().flatten().collect();
    let all = if places.is_empty() { allowed.ids().len() } else { distinct.len() }.max(1) as u32;
    let quota = allowed.quota().map_or(f64::INFINITY, |it| it.processors.ceil().max(1.0));
    (all, quota.min(f64::from(all)) as u32)
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

static IS_LIBGOMP_LOADED: AtomicBool = AtomicBool::new(false);

/// Looks, while this library is loaded, for libgomp. (Later, the look may wait for a thread that
/// opens a plugin.)
pub(super) fn find_libgomp() -> bool {
    let is_loaded = next_symbol(c"GOACC_parallel_keyed").is_some();
    // Relaxed, here and below: before the program's first call.
    IS_LIBGOMP_LOADED.store(is_loaded, Ordering::Relaxed);
    is_loaded
}

/// True if the dynamic linker has loaded libgomp, too: the program is linked with it, and this
/// library is preloaded.
pub(super) fn is_libgomp_loaded() -> bool {
    IS_LIBGOMP_LOADED.load(Ordering::Relaxed)
}

/// The definition of a symbol behind this library's.
fn next_symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a zero.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// The number of processors that libgomp's sets have room for: they consist of words.
fn capacity() -> usize {
    Processors::allowed().ids().last().map_or(0, |last| last / 64 + 1) * 64
}

/// Reads GOMP_CPU_AFFINITY: numbers and ranges `first-last[:stride]`, each processor a place.
pub(super) fn of_list(text: &mut Text<'_>) -> Option<Vec<Vec<usize>>> {
    let capacity = capacity();
    let known = ranges(text)?.into_iter().filter(|&it| it < capacity);
    Some(known.map(|it| vec![it]).collect())
}

fn ranges(text: &mut Text<'_>) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    loop {
        let first = text.any_number()?;
        let (mut last, mut stride) = (first, 1);
        if text.accept(b'-') {
            last = text.any_number().filter(|&it| it >= first)?;
            if text.accept(b':') {
                stride = text.any_number().filter(|&it| it > 0)?;
            }
        }
        numbers.extend((first..=last).step_by(stride));
        if !text.accept_next(b',') && text.is_over() {
            return Some(numbers);
        }
    }
}

/// What OMP_PLACES says, as far as its syntax goes.
#[derive(Debug)]
pub(super) enum Stated {
    /// The first so many places of a level of the machine.
    Level(Level, usize),
    Explicit(Vec<Item>),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Level {
    Threads,
    Of(Kind),
}

/// `[!]place[:count[:stride]]`, where a place is a number or `{[!]number[:count[:stride]],...}`.
#[derive(Debug, Default)]
pub(super) struct Item {
    is_excluded: bool,
    added: Vec<(usize, Interval)>,
    removed: Vec<usize>,
    interval: Interval,
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    count: usize,
    stride: isize,
}

impl Default for Interval {
    fn default() -> Self {
        Self { count: 1, stride: 1 }
    }
}

pub(super) fn stated(text: &mut Text<'_>) -> Option<Stated> {
    const LEVELS: [(&str, Level); 5] = [
        ("threads", Level::Threads),
        ("cores", Level::Of(Kind::Core)),
        ("sockets", Level::Of(Kind::Package)),
        ("ll_caches", Level::Of(Kind::L3)),
        ("numa_domains", Level::Of(Kind::Memory)),
    ];
    if let Some(level) = text.word(&LEVELS) {
        if !text.accept_next(b'(') {
            return Some(Stated::Level(level, usize::MAX));
        }
        let count = index(text)?;
        return text.accept_next(b')').then_some(Stated::Level(level, count));
    }
    list(text, item).map(Stated::Explicit)
}

/// A number that C's `unsigned long` holds.
fn index(text: &mut Text<'_>) -> Option<usize> {
    text.number().and_then(|it| usize::try_from(it).ok())
}

fn item(text: &mut Text<'_>) -> Option<Item> {
    let mut item = Item { is_excluded: text.accept_next(b'!'), ..Item::default() };
    if text.accept_next(b'{') {
        loop {
            let is_removed = text.accept_next(b'!');
            let first = index(text)?;
            match (is_removed, interval(text)?) {
                (false, interval) => item.added.push((first, interval.unwrap_or_default())),
                (true, None) => item.removed.push(first),
                (true, Some(_)) => return None,
            }
            if text.accept_next(b'}') {
                break;
            }
            text.accept_next(b',').then_some(())?;
        }
    } else {
        item.added.push((index(text)?, Interval::default()));
    }
    let interval = interval(text)?;
    if interval.is_some_and(|it| item.is_excluded || it.count >= 65536) {
        return None;
    }
    item.interval = interval.unwrap_or_default();
    Some(item)
}

/// `[:count[:stride]]`. `None` if it is invalid.
fn interval(text: &mut Text<'_>) -> Option<Option<Interval>> {
    if !text.accept_next(b':') {
        return Some(None);
    }
    let count = index(text).filter(|&it| it > 0)?;
    let stride = if text.accept_next(b':') { text.signed()? as isize } else { 1 };
    Some(Some(Interval { count, stride }))
}

/// The places, or libgomp's message.
pub(super) fn find(stated: Stated) -> Result<Vec<Vec<usize>>, String> {
    match stated {
        Stated::Level(_, 0) => Err("Error reading core/socket topology".into()),
        Stated::Level(level, count) => Ok(of_level(level, count)),
        Stated::Explicit(items) => {
            of_items(&items, capacity()).and_then(usable).map_err(|message| {
                format!("{message}\n\nlibgomp: Invalid value for environment variable OMP_PLACES")
            })
        }
    }
}

fn of_level(level: Level, count: usize) -> Vec<Vec<usize>> {
    let mut places = of_processors();
    if let Level::Of(kind) = level {
        let machine = Topology::of_this_machine();
        let mut left = places.concat();
        places.clear();
        while let Some(&first) = left.first() {
            let region = machine.level(kind).and_then(|level| level.region_of(first));
            let is_in =
                |it: &usize| region.map_or(*it == first, |region| region.processors.contains(*it));
            places.push(left.iter().copied().filter(is_in).collect());
            left.retain(|it| !is_in(it));
        }
    }
    places.truncate(count);
    places
}

type Set = BTreeSet<usize>;

fn of_items(items: &[Item], capacity: usize) -> Result<Vec<Set>, String> {
    let mut places: Vec<Set> = Vec::new();
    for item in items {
        let place = item.place(capacity)?;
        if item.is_excluded {
            let at = places.iter().position(|it| *it == place);
            let missing = "Trying to remove a non-existing place from list of places";
            places.remove(at.ok_or(missing)?);
            continue;
        }
        let mut next = place;
        for _ in 1..item.interval.count {
            let moved = next.iter().map(|&it| moved(it, item.interval.stride, capacity));
            let moved = moved.collect::<Result<_, _>>()?;
            places.push(std::mem::replace(&mut next, moved));
        }
        places.push(next);
    }
    if places.is_empty() { Err("All places have been removed".into()) } else { Ok(places) }
}

impl Item {
    fn place(&self, capacity: usize) -> Result<Set, String> {
        let known = |number| {
            let known = Some(number).filter(|&it| it < capacity);
            known.ok_or_else(|| format!("Logical CPU number {number} out of range"))
        };
        let mut place = Set::new();
        for &(first, interval) in &self.added {
            let mut next = Ok(first);
            for _ in 0..interval.count {
                let number = known(next?)?;
                place.insert(number);
                next = moved(number, interval.stride, usize::MAX);
            }
        }
        for &number in &self.removed {
            if !place.remove(&known(number)?) {
                return Err(format!("Logical CPU {number} to be removed is not in the set"));
            }
        }
        Ok(place)
    }
}

/// A processor's number in another place, so much further.
fn moved(number: usize, stride: isize, capacity: usize) -> Result<usize, String> {
    let moved = number.checked_add_signed(stride).filter(|&it| stride <= 0 || it < capacity);
    moved.ok_or_else(|| format!("Logical CPU number {number}+{stride} out of range"))
}

/// The processors of places that are allowed.
fn usable(places: Vec<Set>) -> Result<Vec<Vec<usize>>, String> {
    let allowed = Processors::allowed().ids().to_vec();
    let all = places.len();
    let keep = |place: Set| place.into_iter().filter(|it| allowed.contains(it)).collect();
    let places: Vec<Vec<_>> =
        places.into_iter().map(keep).filter(|it: &Vec<_>| !it.is_empty()).collect();
    if places.is_empty() {
        return Err("None of the places contain usable logical CPUs".into());
    }
    if places.len() < all {
        let some = "because some places didn't contain any usable logical CPUs";
        warn(&format!("Number of places reduced from {all} to {} {some}", places.len()));
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T>(value: &str, parse: fn(&mut Text<'_>) -> Option<T>) -> Option<T> {
        let mut text = Text(value.as_bytes());
        parse(&mut text).filter(|_| text.is_over())
    }

    #[test]
    fn lists_of_processors_have_ranges_and_strides() {
        assert_eq!(read("0 3,1-2 4-9:2 0x1", ranges), Some(vec![0, 3, 1, 2, 4, 6, 8, 1]));
        for wrong in ["x", "0 1-", "3-1", "0-4:0", "1:2x", "0,", "0,,1", "65536"] {
            assert_eq!(read(wrong, ranges), None, "{wrong}");
        }
    }

    #[test]
    fn each_processor_of_the_places_counts_once() {
        let allowed = Processors::allowed();
        assert_eq!(processors(&[]), (allowed.ids().len() as u32, allowed.count() as u32));
        let most = allowed.quota().map_or(2, |it| it.processors.ceil() as u32);
        assert_eq!(processors(&[vec![0], vec![0, 7], vec![7]]), (2, most.min(2)));
    }

    /// The places of a value, on a machine with ten processors.
    fn explicit(value: &str) -> Option<Result<Vec<Vec<usize>>, String>> {
        let Some(Stated::Explicit(items)) = read(value, stated) else { return None };
        let list =
            |places: Vec<Set>| places.into_iter().map(|it| it.into_iter().collect()).collect();
        Some(of_items(&items, 10).map(list))
    }

    #[test]
    fn explicit_places_have_intervals_and_exclusions() {
        let is = |value, places: &[&[usize]]| {
            let places = places.iter().map(|it| it.to_vec()).collect();
            assert_eq!(explicit(value), Some(Ok(places)), "{value}");
        };
        is("{0,1} , {2:2}", &[&[0, 1], &[2, 3]]);
        is("{6,7}:4:-2,!{2,3}", &[&[6, 7], &[4, 5], &[0, 1]]);
        is("{0:4:2}", &[&[0, 2, 4, 6]]);
        is("{!2,0:4}", &[&[0, 1, 3]]);
        is("1:3", &[&[1], &[2], &[3]]);
        is("{0:2:0}:2:0", &[&[0], &[0]]);
        for wrong in ["{0}:0", "{", "{0", "{0},", "{x}", "{0}x", "!{0}:2", "{!0:2}", "0:65536"] {
            assert_eq!(explicit(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_no_processor_or_place_is_named() {
        for (value, message) in [
            ("{10}", "Logical CPU number 10 out of range"),
            ("{9:2}", "Logical CPU number 10 out of range"),
            ("{0:2:-1}", "Logical CPU number 0+-1 out of range"),
            ("{0}:2:10", "Logical CPU number 0+10 out of range"),
            ("{0,!1}", "Logical CPU 1 to be removed is not in the set"),
            ("{0,1},!{0}", "Trying to remove a non-existing place from list of places"),
            ("{0},!{0}", "All places have been removed"),
        ] {
            assert_eq!(explicit(value), Some(Err(message.to_owned())));
        }
    }
}
