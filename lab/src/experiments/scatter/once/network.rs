//! The network: a central process, and those to which it sends messages and from which it receives answers.

use std::time::Instant;

use locksley::Pool;
use locksley_kahn::{Network, Receiver, Sender};

use super::work::divide;
use super::{Finding, Subject, Task};

/// A message.
struct Message {
    number: u64,
    divisions: u64,
}

pub(super) fn run(pool: &Pool, task: &Task) -> Result<Finding, String> {
    let &Task { subject, divisions, seed, .. } = task;
    let mut network = Network::new();
    let (mut messages, mut answers) = (Vec::new(), Vec::new());
    for process in 0..subject.processes {
        let (message, todo) = network.channel::<Message>(format!("message {process}"), 1);
        let (done, answer) = network.channel::<u64>(format!("answer {process}"), 1);
        let name = format!("process {process}");
        network.process(name, (todo, done), async |(mut todo, mut done)| {
            while let Some(message) = todo.recv().await {
                done.send(message.number.wrapping_add(divide(message.divisions))).await;
            }
        });
        messages.push(message);
        answers.push(answer);
    }
    let center = network.process("center", (messages, answers), async move |ends| {
        let (mut messages, mut answers): (Vec<Sender<Message>>, Vec<Receiver<u64>>) = ends;
        // A round that nobody times: with it all processes begin.
        for message in &mut messages {
            message.send(Message { number: 0, divisions }).await;
        }
        for answer in &mut answers {
            answer.recv().await;
        }
        let begun = Instant::now();
        let (mut sum, mut place) = (0u64, 0u64);
        for _ in 0..subject.rounds {
            for (to, message) in (place..).zip(&mut messages) {
                message.send(Message { number: Subject::number(seed, to), divisions }).await;
            }
            for answer in &mut answers {
                let answer = answer.recv().await.unwrap_or_default();
                sum = sum.wrapping_add(Subject::weighed(answer, place));
                place += 1;
            }
        }
        (begun.elapsed().as_secs_f64(), sum)
    });
    let steals = || {
        let workers = pool.stats().workers;
        workers.iter().fold((0, 0), |(steals, failed), worker| {
            (steals + worker.steals, failed + worker.failed_steals)
        })
    };
    let (before, since) = (steals(), Instant::now());
    network.run(pool).map_err(|error| error.to_string())?;
    let (running, after) = (since.elapsed(), steals());
    let (seconds, answer) = center.take().ok_or("the central process has not ended")?;
    Ok(Finding {
        seconds,
        divisions,
        answer,
        steals: after.0 - before.0,
        failed_steals: after.1 - before.1,
        running_seconds: running.as_secs_f64(),
    })
}
