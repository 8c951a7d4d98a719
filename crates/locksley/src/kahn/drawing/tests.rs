//! Layers, labels, and names that need escaping.

use super::layers::places;
use crate::Pool;
use crate::kahn::Network;

#[test]
fn each_process_comes_after_those_that_send_to_it() {
    // A diamond, and an edge back.
    let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 0)];
    let places = places(4, &edges);
    for &(from, to) in &edges[..4] {
        assert!(places[from].0 < places[to].0);
    }
    assert_eq!(places, [(0, 0), (1, 0), (1, 1), (2, 0)]);
}

#[test]
fn a_process_is_near_to_those_that_send_to_it() {
    let places = places(6, &[(0, 3), (1, 4), (2, 5), (2, 4)]);
    assert_eq!(places, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    let crossed = super::layers::places(4, &[(0, 3), (1, 2)]);
    assert_eq!(crossed, [(0, 0), (0, 1), (1, 1), (1, 0)]);
}

#[test]
fn a_ring_and_one_that_sends_to_itself_have_layers() {
    assert_eq!(places(3, &[(0, 1), (1, 2), (2, 0)]), [(0, 0), (1, 0), (2, 0)]);
    assert_eq!(places(2, &[(0, 0), (1, 1)]), [(0, 0), (0, 1)]);
    assert_eq!(places(0, &[]), []);
}

#[test]
fn all_is_drawn_and_names_are_escaped() {
    let mut network = Network::new().measured();
    let (output, input) = network.channel("a\\b \"<&>\"\n", 1);
    let (nowhere, end) = network.channel("nowhere", 2);
    drop(end);
    network.process("first\u{7}", (output, nowhere), async |(mut output, mut nowhere)| {
        for n in 0..3 {
            output.send(n).await;
            nowhere.send(n).await;
        }
    });
    network.process("second", input, async |mut input| while input.recv().await.is_some() {});
    let report = network.run(&Pool::new(1).unwrap()).unwrap();
    let dot = report.dot();
    assert!(
        dot.contains(r#"p0 -> p1 [label="a\\b \"<&>\" \n3 messages\nat most 1 of 1\nwaited: "#),
        "{dot}"
    );
    assert!(dot.contains("c1to [shape=point];"), "{dot}");
    assert!(dot.contains(r#"p0 -> c1to [label="nowhere\n3 messages, 3 discarded"#), "{dot}");
    let svg = report.svg();
    assert_eq!(svg.matches("<rect").count(), 2);
    assert_eq!(svg.matches("<path").count(), 1);
    assert!(svg.contains(">a\\b \"&lt;&amp;&gt;\" </text>"), "{svg}");
    assert!(svg.contains(">first </text>"), "{svg}");
}
