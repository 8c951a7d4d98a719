//! What hwloc's `lstopo` says of a machine: its text, or its XML.

use locksley_sys::places::ProcessorSet;

/// One thing of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    /// As hwloc calls it, but a cache without the word: `L1d`, `L2`.
    pub(crate) name: String,
    /// What sort of its kind, if hwloc says so.
    pub(crate) subtype: String,
    pub(crate) number: Option<usize>,
    pub(crate) bytes: Option<u64>,
    /// How exactly the size is told, in bytes.
    pub(crate) grain: u64,
    pub(crate) processors: ProcessorSet,
}

/// A machine, as hwloc sees it.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) objects: Vec<Object>,
}

impl Object {
    /// Whether `bytes` may be its size, as far as both are known.
    pub(crate) fn may_have(&self, bytes: Option<u64>) -> bool {
        bytes.zip(self.bytes).is_none_or(|(ours, theirs)| ours.abs_diff(theirs) < self.grain)
    }
}

impl Answer {
    pub(crate) fn parse(text: &str) -> Self {
        if text.starts_with("<?xml") { xml(text) } else { console(text) }
    }

    pub(crate) fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Object> {
        self.objects.iter().filter(move |object| object.name == name)
    }
}

/// A mask such as `0x000000f0,,0x0`, the highest word first.
pub(crate) fn mask(text: &str) -> ProcessorSet {
    let mut numbers = Vec::new();
    for (place, word) in text.split(',').rev().enumerate() {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let word = if digits.is_empty() { 0 } else { u32::from_str_radix(digits, 16).unwrap() };
        numbers.extend((0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| 32 * place + bit));
    }
    numbers.into_iter().collect()
}

/// A tree by indentation, each line of which has a name, perhaps a sort, a logical number and
/// attributes: `  L2Cache L#0 (size=4096KB linesize=64 ways=16)`. Memories are listed where they
/// belong, and have nothing in them.
fn console(text: &str) -> Answer {
    let mut objects: Vec<Object> = Vec::new();
    let mut around: Vec<(usize, usize)> = Vec::new();
    // The owner of each memory, by the index of the memory.
    let mut homes = Vec::new();
    for line in text.lines().take_while(|line| !line.starts_with("depth ")) {
        let indentation = line.len() - line.trim_start().len();
        let is_root = line.starts_with("Machine ");
        let Some((head, rest)) = line.trim_start().split_once(if is_root { " " } else { " L#" })
        else {
            continue;
        };
        let (name, subtype) = head.split_once('(').unwrap_or((head, ""));
        let attributes = rest.split_once('(').map_or("", |(_, attributes)| attributes);
        let value = |key: &str| {
            let (_, after) = attributes.split_once(key)?;
            let end = after.find([' ', ')']).unwrap_or(after.len());
            Some(&after[..end])
        };
        let size = if name == "NUMANode" { "local=" } else { "size=" };
        while around.last().is_some_and(|&(depth, _)| depth >= indentation) {
            around.pop();
        }
        let index = objects.len();
        let number = value("P#").and_then(|number| number.parse().ok());
        objects.push(Object {
            name: name.strip_suffix("Cache").unwrap_or(name).to_owned(),
            subtype: subtype.trim_end_matches(')').to_owned(),
            number,
            bytes: value(size).map(|size| bytes(size).0),
            grain: value(size).map_or(1, |size| bytes(size).1),
            processors: ProcessorSet::new(),
        });
        match name {
            "NUMANode" => homes.push((index, around.last().unwrap().1)),
            // A cache of a memory, with the memory in it.
            "MemCache" => {}
            _ => around.push((indentation, index)),
        }
        if name == "PU" {
            let processor: ProcessorSet = number.into_iter().collect();
            for &(_, index) in &around {
                objects[index].processors = objects[index].processors.union(&processor);
            }
        }
    }
    for (memory, home) in homes {
        objects[memory].processors = objects[home].processors.clone();
    }
    Answer { objects }
}

/// `4096KB`, `31GiB`: the bytes, and those of the unit.
fn bytes(text: &str) -> (u64, u64) {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match &text[digits.len()..] {
        "KB" | "KiB" => 1 << 10,
        "MB" | "MiB" => 1 << 20,
        "GB" | "GiB" => 1 << 30,
        other => panic!("{other}"),
    };
    (digits.parse::<u64>().unwrap() * unit, unit)
}

/// One tag a line; those of objects have their set.
fn xml(text: &str) -> Answer {
    let mut answer = Answer::default();
    for line in text.lines().map(str::trim_start) {
        let value = |key: &str| {
            let (_, after) = line.split_once(&format!(" {key}=\""))?;
            after.split_once('"').map(|(value, _)| value)
        };
        let processors = value("cpuset").map(mask).unwrap_or_default();
        if line.starts_with("<object ") {
            let name = value("type").unwrap();
            let cache = name.strip_suffix("Cache");
            // Data caches are called like unified ones.
            let is_data = value("cache_type") == Some("1") && !name.contains('d');
            let name = format!("{}{}", cache.unwrap_or(name), if is_data { "d" } else { "" });
            let size = value("cache_size").or(value("local_memory"));
            answer.objects.push(Object {
                name,
                subtype: value("subtype").unwrap_or_default().to_owned(),
                number: value("os_index").map(|number| number.parse().unwrap()),
                bytes: size.map(|size| size.parse().unwrap()),
                grain: 1,
                processors,
            });
        }
    }
    answer
}

#[test]
fn a_text_is_understood() {
    let text = "\
Machine (P#0 total=16GiB)
  Package L#0 (P#3 CPUModel=\"A (B)  C\")
    NUMANode(HBM) L#0 (P#1 local=2097152KB total=2097152KB)
    L2Cache L#0 (size=4096KB linesize=64)
      Core L#0 (P#7)
        PU L#0 (P#0)
        PU L#1 (P#4)
    Core L#1
      PU L#2 (P#2)
depth 0:           1 Machine (type #0)
";
    let answer = Answer::parse(text);
    let object = |name| answer.named(name).next().unwrap().clone();
    assert_eq!(object("Machine").processors, ProcessorSet::from_iter([0, 2, 4]));
    let memory = object("NUMANode");
    assert_eq!((memory.number, memory.bytes, &*memory.subtype), (Some(1), Some(2 << 30), "HBM"));
    assert_eq!(memory.processors, object("Package").processors);
    assert_eq!(object("Package").number, Some(3));
    let sizes = [(4 << 20) - 1024, 4 << 20, (4 << 20) + 1023].map(Some);
    assert_eq!(sizes.map(|bytes| object("L2").may_have(bytes)), [false, true, true]);
    assert!(object("L2").may_have(None) && object("Core").may_have(Some(1)));
    assert_eq!((object("L2").bytes, object("L2").processors.len()), (Some(4 << 20), 2));
    assert_eq!(answer.named("Core").count(), 2);
}

#[test]
fn xml_is_understood() {
    let text = "<?xml version=\"1.0\"?>
  <object type=\"Machine\" os_index=\"0\" cpuset=\"0x00000003,,0x0\">
    <object type=\"L1Cache\" cpuset=\"0x00000001,,0x0\" cache_size=\"32768\" cache_type=\"1\">
    <object type=\"L1iCache\" cpuset=\"0x00000001,,0x0\" cache_size=\"65536\" cache_type=\"2\">
    <object type=\"PU\" os_index=\"64\" cpuset=\"0x00000001,,0x0\"/>";
    let answer = Answer::parse(text);
    assert_eq!(answer.objects[0].processors, ProcessorSet::from_iter([64, 65]));
    let names: Vec<&str> = answer.objects.iter().map(|object| &*object.name).collect();
    assert_eq!(names, ["Machine", "L1d", "L1i", "PU"]);
    assert_eq!((answer.objects[1].bytes, answer.objects[3].number), (Some(1 << 15), Some(64)));
}
