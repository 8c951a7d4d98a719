//! polars-core: rows of a data frame are grouped, added up and sorted.

mod random;

use polars_core::prelude::*;

fn main() -> PolarsResult<()> {
    let numbers: Vec<u64> = random::numbers().take(1 << 21).collect();
    let column = |name: &str, of: fn(u64) -> u64| {
        Column::new(name.into(), numbers.iter().map(|&n| of(n)).collect::<Vec<u64>>())
    };
    let frame = DataFrame::new(vec![
        column("key", |n| n % 1009),
        column("fine", |n| n >> 20 & 0xFFFF),
        column("value", |n| n >> 40),
    ])?;
    for key in ["key", "fine"] {
        #[allow(deprecated)] // the lazy interface is another package
        let sums = frame.group_by([key])?.select(["value"]).sum()?;
        println!("{}", sums.sort([key], SortMultipleOptions::default())?);
    }
    let order = SortMultipleOptions::default().with_multithreaded(true);
    println!("{}", frame.sort(["value", "key", "fine"], order)?);
    Ok(())
}
