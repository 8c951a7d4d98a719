//! Drawings of networks that have run.

mod dot;
mod layers;
mod svg;

use super::report::{ChannelReport, ProcessReport, Report};
use crate::drawing::time;

impl Report {
    /// The network as a graph in the language of Graphviz: an edge for each channel, with its traffic, and what was
    /// [measured](super::Network::measured).
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, kahn::Network};
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
        dot::of(self)
    }

    /// The network as a picture (SVG): processes in layers, so that most messages go from left to right. The wider a line, the more
    /// messages; the redder, the longer somebody waited there, if that was [measured](super::Network::measured).
    ///
    /// # Examples
    /// ```
    /// # use locksley::{Pool, kahn::Network};
    /// # let mut network = Network::new().measured();
    /// # let (words, all) = network.channel("words", 4);
    /// # network.process("read", words, async |mut words| words.send("one").await);
    /// # network.process("count", all, async |mut all| while all.recv().await.is_some() {});
    /// let svg = network.run(&Pool::new(1)?)?.svg();
    /// assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn svg(&self) -> String {
        svg::of(self)
    }
}

/// A process's label, in lines.
fn process_lines(process: &ProcessReport) -> Vec<String> {
    let mut lines = vec![process.name.clone()];
    lines.extend(process.busy.map(|busy| format!("ran {}", time(busy))));
    lines
}

/// A channel's label, in lines.
fn channel_lines(channel: &ChannelReport) -> Vec<String> {
    let mut lines = vec![channel.name.clone()];
    let messages = if channel.sent == 1 { "message" } else { "messages" };
    lines.push(match channel.discarded() {
        0 => format!("{} {messages}", channel.sent),
        discarded => format!("{} {messages}, {discarded} discarded", channel.sent),
    });
    let grown = if channel.capacity > channel.first_capacity { ", grown" } else { "" };
    lines.push(match channel.high_water {
        Some(most) => format!("at most {most} of {}{grown}", channel.capacity),
        None => format!("room for {}{grown}", channel.capacity),
    });
    if let (Some(sender), Some(receiver)) = (channel.sender_waited, channel.receiver_waited) {
        lines.push(format!("waited: {} full, {} empty", time(sender), time(receiver)));
    }
    lines
}

#[cfg(all(test, not(loom)))]
mod tests;
