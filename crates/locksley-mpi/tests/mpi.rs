//! Real ranks: this program starts itself by `mpirun`, on 1, 2, 4 and 8 ranks, and as programs that
//! fail.

use std::env;
use std::process::{Command, Output, exit};
use std::time::{Duration, Instant};

use locksley::Pool;
use locksley_mpi::{Bag, Error, Mpi, Ranks};
use rustix::process::{Signal, getpid, kill_process};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

fn main() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    if let [rank, case, ..] = &arguments[..]
        && rank == "rank"
    {
        return rank_program(case);
    }
    for ranks in [1, 2, 4, 8] {
        let output = mpirun(&["-n", &ranks.to_string()], "answers");
        assert!(output.status.success(), "{output:?}");
        let answers = String::from_utf8_lossy(&output.stdout);
        assert_eq!(answers.matches("all answers are right").count(), 1, "{output:?}");
        println!("test answers_on_{ranks}_ranks ... ok");
    }
    for (case, code, text) in [
        ("panics", 101, "of my own"),
        ("stops", 2, "rank 1 has died or hangs"),
        ("dies", 137, "signal 9"),
        ("too_large", 2, "larger than the limit of 1000 bytes"),
        ("unserializable", 2, "a message cannot be serialized"),
        ("resilient", 2, "no run can be resilient: it ends all ranks when one dies"),
    ] {
        let start = Instant::now();
        let output = mpirun(&["-n", "3"], case);
        assert_eq!(output.status.code(), Some(code), "{case}: {output:?}");
        let all = [output.stdout, output.stderr].concat();
        let all = String::from_utf8_lossy(&all);
        assert!(all.contains(text), "{case}: {all}");
        println!("test {case} ... ok ({:.1} s)", start.elapsed().as_secs_f64());
    }
    // Each compares its result with a sequential one.
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src/");
    let words = ["lib.rs", "bag.rs", "local.rs", "steal.rs"].map(|it| format!("{sources}{it}"));
    for (example, arguments, text) in [
        ("bfs", &["12".to_owned()][..], "\"scale\":12,"),
        ("matrix", &["100".to_owned()], "\"rows\":100,"),
        ("words", &words, "\"files\":4,"),
    ] {
        for ranks in ["1", "2", "4"] {
            let output = run_example(ranks, example, arguments);
            let line = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && line.contains(text), "{example}: {output:?}");
            println!("test {example}_on_{ranks}_ranks ... ok");
        }
    }
    let output = mpirun(&["--enable-recovery", "-n", "4"], "survives");
    let answers = String::from_utf8_lossy(&output.stdout);
    assert_eq!(answers.matches("the answer is exact").count(), 1, "{output:?}");
    assert!(!answers.contains("no rank has died"), "{output:?}");
    println!("test survives ... ok");
    // Rank 0 has an argument more; then, rank 0 runs another file.
    let this = env::current_exe().unwrap();
    let other = this.with_extension("other");
    std::fs::write(&other, [std::fs::read(&this).unwrap(), vec![0]].concat()).unwrap();
    std::fs::set_permissions(&other, std::fs::metadata(&this).unwrap().permissions()).unwrap();
    for (test, program, extra) in
        [("arguments_differ", &this, &["other"][..]), ("programs_differ", &other, &[])]
    {
        let first = ["-n", "1", program.to_str().unwrap(), "rank", "answers"];
        let output = mpirun(&[&first, extra, &[":", "-n", "1"]].concat(), "answers");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(error.matches("rank 1 runs program").count(), 1, "{error}");
        println!("test {test} ... ok");
    }
    std::fs::remove_file(&other).unwrap();
    println!("\ntest result: ok. 22 passed; 0 failed");
}

fn launcher() -> Command {
    let mut command = Command::new("mpirun");
    // Open MPI asks for this where everything runs as root, as in containers.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.arg("--oversubscribe");
    command
}

/// Runs this program as ranks.
fn mpirun(options: &[&str], case: &str) -> Output {
    let mut command = launcher();
    command.args(options).arg(env::current_exe().unwrap());
    command.args(["rank", case]).output().expect("mpirun can be run")
}

fn run_example(ranks: &str, example: &str, arguments: &[String]) -> Output {
    let this = env::current_exe().unwrap();
    let examples = this.parent().unwrap().with_file_name("examples");
    let mut command = launcher();
    command.args(["-n", ranks]).arg(examples.join(example)).args(arguments);
    command.output().expect("mpirun can be run")
}

fn rank_program(case: &str) {
    let connected = Mpi::new().and_then(Ranks::connect);
    let mut ranks = match connected {
        Ok(ranks) => ranks,
        Err(error) => {
            if !matches!(error, Error::Remote { .. }) {
                eprintln!("{error}");
            }
            exit(2)
        }
    };
    let pool = Pool::new(1).unwrap();
    let result = match case {
        "answers" => answers(&mut ranks, &pool),
        "too_large" => {
            ranks.set_max_message(1000);
            let text = |_| "x".repeat(2000);
            ranks.par_map_reduce(&pool, 0..100, text, |a, b| a.max(b)).map(drop)
        }
        "unserializable" => ranks.par_map_reduce(&pool, 0..100, |_| Secret, |one, _| one).map(drop),
        "resilient" => ranks.set_resilient(true),
        "survives" => survives(&mut ranks, &pool),
        _ => fail(&mut ranks, &pool, case),
    };
    if let Err(error) = result {
        ranks.into_transport().abort(&error);
    }
}

fn answers(ranks: &mut Ranks<Mpi>, pool: &Pool) -> Result<(), Error> {
    for _ in 0..50 {
        let sum = ranks.par_map_reduce(pool, 0..10_000, |n| n, |a, b| a + b)?;
        assert_eq!(sum, (ranks.rank() == 0).then_some(49_995_000));
    }
    let tasks = (ranks.rank() == 0).then(|| vec![vec![1; 100_000]; 20]);
    let bytes = ranks.run(pool, Large, tasks)?;
    if ranks.rank() == 0 {
        assert_eq!(bytes, Some(2_000_000));
        println!("all answers are right");
    }
    Ok(())
}

/// What stays in its process.
struct Secret;

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("it stays here"))
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Ok(Self)
    }
}

/// Adds the bytes of large tasks, slowly, so that they move.
struct Large;

impl Bag for Large {
    type Tasks = Vec<Vec<u8>>;
    type Output = u64;

    fn process(&self, tasks: &mut Vec<Vec<u8>>, items: usize, sum: &mut u64) -> bool {
        for _ in 0..items.min(tasks.len()) {
            let task = tasks.pop().unwrap_or_default();
            *sum += task.iter().map(|&byte| u64::from(byte)).sum::<u64>();
            std::thread::sleep(Duration::from_millis(5));
        }
        !tasks.is_empty()
    }

    fn split(&self, tasks: &mut Vec<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
        (tasks.len() > 1).then(|| tasks.drain(..tasks.len() / 2).collect())
    }

    fn merge(&self, sum: &mut u64, more: u64) {
        *sum += more;
    }
}

/// Rank 2 is killed while it processes what it has stolen.
fn survives(ranks: &mut Ranks<Mpi>, pool: &Pool) -> Result<(), Error> {
    ranks.set_resilient(true)?;
    let is_killed = ranks.rank() == 2;
    let map = move |n| {
        std::thread::sleep(Duration::from_millis(1));
        if is_killed {
            kill_process(getpid(), Signal::KILL).unwrap();
        }
        n
    };
    if let Some(sum) = ranks.par_map_reduce(pool, 0..2000, map, |a, b| a + b)? {
        assert_eq!(sum, 1_999_000);
        println!("the answer is exact");
    }
    if is_killed {
        println!("no rank has died");
    }
    Ok(())
}

/// Rank 1 fails while rank 0 is busy for ever.
fn fail(ranks: &mut Ranks<Mpi>, pool: &Pool, case: &str) -> Result<(), Error> {
    let (rank, case) = (ranks.rank(), case.to_owned());
    let map = move |_| match rank {
        0 => loop {
            std::thread::park();
        },
        1 => {
            // All have begun, and give signs of life.
            std::thread::sleep(Duration::from_millis(1500));
            match case.as_str() {
                "panics" => panic!("of my own"),
                "stops" => kill_process(getpid(), Signal::STOP).unwrap(),
                "dies" => kill_process(getpid(), Signal::KILL).unwrap(),
                other => unreachable!("there is no case {other}"),
            }
        }
        _ => {}
    };
    // One for each rank.
    ranks.par_map_reduce(pool, 0..3, map, |(), ()| ()).map(drop)
}
