//! What an idle pool costs: `cargo run --release -p locksley --example idle [SECONDS]`.

use std::time::Duration;

use locksley::{BuildError, Pool};

fn main() -> Result<(), BuildError> {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10);
    let pool = Pool::builder().build()?;
    pool.install(|w| w.join(|_| (), |_| ()));
    std::thread::sleep(Duration::from_secs(1)); // for the thieves to give up
    let before = pool.stats().total().processor_time;
    std::thread::sleep(Duration::from_secs(seconds));
    let after = pool.stats().total().processor_time;
    match before.zip(after) {
        Some((before, after)) => println!(
            "{} workers, {seconds} idle seconds: {:.2} seconds of processor time",
            pool.workers(),
            (after - before).as_secs_f64()
        ),
        None => println!("this system does not tell the processor time of threads"),
    }
    Ok(())
}
