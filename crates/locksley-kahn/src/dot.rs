//! Drawings of networks, in the language of Graphviz.

use std::fmt::Write;

use super::report::{ChannelReport, NetworkReport, ProcessReport};

impl NetworkReport {
    /// The network as a graph in the language of Graphviz: an edge for each channel, with its
    /// traffic, and what was [measured](super::Network::measured).
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley_kahn::Network;
    ///
    /// let mut network = Network::new();
    /// let (words, all) = network.channel("words", 4);
    /// network.process("read", words, async |mut words| words.send("one").await);
    /// network.process("count", all, async |mut all| while all.recv().await.is_some() {});
    /// let dot = network.run(&Pool::new(1)?)?.dot();
    /// assert!(dot.starts_with("digraph"));
    /// assert!(dot.contains(r#"p0 -> p1 [label="words\n1 message"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn dot(&self) -> String {
        let mut text = String::from("digraph network {\n    rankdir=LR;\n    node [shape=box];\n");
        for (number, process) in self.processes.iter().enumerate() {
            let _ = writeln!(text, "    p{number} [label={}];", process_label(process));
        }
        for (number, channel) in self.channels.iter().enumerate() {
            // An end that no process has is a point.
            let mut end = |process: Option<usize>, which: &str| match process {
                Some(process) => format!("p{process}"),
                None => {
                    let _ = writeln!(text, "    c{number}{which} [shape=point];");
                    format!("c{number}{which}")
                }
            };
            let (from, to) = (end(channel.from, "from"), end(channel.to, "to"));
            let _ = writeln!(text, "    {from} -> {to} [label={}];", channel_label(channel));
        }
        text.push_str("}\n");
        text
    }
}

fn process_label(process: &ProcessReport) -> String {
    let mut lines = vec![process.name.clone()];
    lines.extend(process.busy.map(|busy| format!("ran {busy:.1?}")));
    quoted(&lines)
}

fn channel_label(channel: &ChannelReport) -> String {
    let messages = if channel.sent == 1 { "message" } else { "messages" };
    let grown = if channel.capacity > channel.initial_capacity { ", grown" } else { "" };
    let mut lines = vec![
        channel.name.clone(),
        match channel.sent.saturating_sub(channel.received) {
            0 => format!("{} {messages}", channel.sent),
            discarded => format!("{} {messages}, {discarded} discarded", channel.sent),
        },
        match channel.high_water {
            Some(most) => format!("at most {most} of {}{grown}", channel.capacity),
            None => format!("room for {}{grown}", channel.capacity),
        },
    ];
    if let (Some(sender), Some(receiver)) = (channel.sender_waited, channel.receiver_waited) {
        lines.push(format!("waited: {sender:.1?} full, {receiver:.1?} empty"));
    }
    quoted(&lines)
}

/// Lines as one quoted string.
fn quoted(lines: &[String]) -> String {
    let escaped = |line: &String| line.replace('\\', r"\\").replace('"', "\\\"").replace('\n', " ");
    let lines: Vec<_> = lines.iter().map(escaped).collect();
    format!("\"{}\"", lines.join(r"\n"))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::Network;
    use locksley::Pool;

    #[test]
    fn all_is_drawn_and_names_are_escaped() {
        let mut network = Network::new().measured();
        let (output, input) = network.channel("a\\b \"<&>\"\n", 1);
        let (nowhere, end) = network.channel("nowhere", 2);
        drop(end);
        network.process("first", (output, nowhere), async |(mut output, mut nowhere)| {
            for n in 0..3 {
                output.send(n).await;
                nowhere.send(n).await;
            }
        });
        network.process("second", input, async |mut input| while input.recv().await.is_some() {});
        let dot = network.run(&Pool::new(1).unwrap()).unwrap().dot();
        for expected in [
            r#"p0 -> p1 [label="a\\b \"<&>\" \n3 messages\nat most 1 of 1\nwaited: "#,
            "c1to [shape=point];",
            r#"p0 -> c1to [label="nowhere\n3 messages, 3 discarded"#,
        ] {
            assert!(dot.contains(expected), "{dot}");
        }
    }
}
