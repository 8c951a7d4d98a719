//! Places (OpenMP 5.0, section 6.5): sets of processors, by number or by an abstract name.

use locksley_sys::os::Processors;
use locksley_sys::places::{Kind, Topology};

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
    let places: Vec<_> = places.into_iter().map(keep).filter(|it| !it.is_empty()).collect();
    (!places.is_empty()).then_some(places)
}

fn named(text: &str, allowed: &[usize]) -> Option<Vec<Vec<usize>>> {
    let (name, count) = match text.split_once('(') {
        None => (text, usize::MAX),
        Some((name, rest)) => (name, rest.strip_suffix(')')?.parse().ok().filter(|&it| it > 0)?),
    };
    let machine = Topology::of_this_machine();
    let kind = match name {
        "threads" => return Some(allowed.iter().map(|&it| vec![it]).take(count).collect()),
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
