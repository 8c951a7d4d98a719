//! Reading the numbers in a size.

/// Reads `text` as exactly `N` whole numbers of at least `least`, separated by `separator`.
pub fn numbers<const N: usize>(
    text: &str,
    separator: char,
    least: usize,
) -> Result<[usize; N], String> {
    let parts: Vec<&str> = text.split(separator).collect();
    if parts.len() != N {
        return Err(match N {
            1 => "it takes one number".to_owned(),
            _ => format!("it takes {N} numbers separated by '{separator}'"),
        });
    }
    let mut numbers = [0; N];
    for (number, part) in numbers.iter_mut().zip(parts) {
        *number = whole(part)?;
        if *number < least {
            return Err(format!("'{part}' is too small, the least is {least}"));
        }
    }
    Ok(numbers)
}

/// Reads a whole number in digits; a sign, a space or a fraction is not one.
pub fn whole(text: &str) -> Result<usize, String> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("'{text}' is not a whole number"));
    }
    text.parse().map_err(|_| format!("'{text}' is too large"))
}

/// The bytes of `counts` multiplied together, for arrays too large for this machine as well.
pub fn product(counts: &[usize]) -> u128 {
    counts.iter().fold(1, |bytes: u128, &count| bytes.saturating_mul(count as u128))
}

/// A number of bytes as people say it.
pub fn in_bytes(bytes: u128) -> String {
    const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut amount = bytes as f64;
    let mut unit = 0;
    while amount >= 1024.0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.3} {}", UNITS[unit]).replace(".000", "")
}
