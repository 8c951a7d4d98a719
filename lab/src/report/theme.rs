//! Colours. The charts are drawn in placeholder colours, which become variables of the page's style sheet: one drawing
//! serves light and dark pages.

use plotters::style::RGBColor;

/// What a placeholder stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    /// Text and axes.
    Text,
    /// Lines that only help the eye.
    Grid,
    /// The line that nobody can pass: ideal speedup.
    Ideal,
    /// The ceiling that the machine's memory and its other tenants set.
    Ceiling,
    /// A runtime, by its place among [`RUNTIMES`].
    Runtime(usize),
}

/// How a runtime is drawn, everywhere.
pub(super) struct Look {
    /// The runtime.
    pub(super) name: &'static str,
    /// Whether its line is dashed.
    pub(super) dashed: bool,
    /// The sign at its points.
    pub(super) marker: Marker,
}

/// The sign at a point: colour alone does not tell runtimes apart for everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    Disc,
    Ring,
    Triangle,
    Square,
}

/// The runtimes that have a look of their own; the style sheet has a colour for each, by number.
pub(super) const RUNTIMES: [Look; 22] = [
    Look { name: "libomp", dashed: true, marker: Marker::Square },
    Look { name: "libgomp", dashed: true, marker: Marker::Triangle },
    Look { name: "onetbb", dashed: false, marker: Marker::Ring },
    Look { name: "chili", dashed: false, marker: Marker::Square },
    Look { name: "static", dashed: false, marker: Marker::Square },
    Look { name: "rayon", dashed: false, marker: Marker::Triangle },
    Look { name: "locksley-awake", dashed: true, marker: Marker::Ring },
    Look { name: "locksley-join", dashed: true, marker: Marker::Disc },
    Look { name: "locksley", dashed: false, marker: Marker::Disc },
    Look { name: ALONE, dashed: true, marker: Marker::Square },
    Look { name: "locksley-naive", dashed: false, marker: Marker::Square },
    Look { name: "locksley-spinlock", dashed: false, marker: Marker::Triangle },
    Look { name: "locksley-blocking", dashed: true, marker: Marker::Triangle },
    Look { name: "locksley-abp-deque", dashed: true, marker: Marker::Disc },
    Look { name: "smol", dashed: false, marker: Marker::Square },
    Look { name: "tokio", dashed: false, marker: Marker::Triangle },
    Look { name: "tokio-current", dashed: true, marker: Marker::Triangle },
    Look { name: "locksley-cur", dashed: true, marker: Marker::Ring },
    Look { name: "locksley-intervals", dashed: false, marker: Marker::Square },
    Look { name: "onetbb-flow", dashed: true, marker: Marker::Ring },
    Look { name: "locksley-intervals-oldest", dashed: true, marker: Marker::Square },
    Look { name: "locksley-intervals-places", dashed: true, marker: Marker::Disc },
];

/// What a sleeper with nobody beside it is called among the runtimes.
pub(super) const ALONE: &str = "alone";

const OTHER: Look = Look { name: "other", dashed: true, marker: Marker::Ring };

/// How `runtime` is drawn, and in which ink.
pub(super) fn look(runtime: &str) -> (&'static Look, Ink) {
    match RUNTIMES.iter().position(|look| look.name == runtime) {
        Some(place) => (&RUNTIMES[place], Ink::Runtime(place)),
        None => (&OTHER, Ink::Text),
    }
}

impl Ink {
    fn all() -> impl Iterator<Item = Ink> {
        let runtimes = (0..RUNTIMES.len()).map(Ink::Runtime);
        [Ink::Text, Ink::Grid, Ink::Ideal, Ink::Ceiling].into_iter().chain(runtimes)
    }

    fn number(self) -> u8 {
        match self {
            Ink::Text => 1,
            Ink::Grid => 2,
            Ink::Ideal => 3,
            Ink::Ceiling => 4,
            Ink::Runtime(place) => 16 + place as u8,
        }
    }

    /// The placeholder: a colour that no chart would use by accident.
    pub(super) fn colour(self) -> RGBColor {
        RGBColor(1, 254, self.number())
    }

    /// The variable of the style sheet.
    pub(super) fn variable(self) -> String {
        match self {
            Ink::Text => "--text".to_owned(),
            Ink::Grid => "--grid".to_owned(),
            Ink::Ideal => "--ideal".to_owned(),
            Ink::Ceiling => "--ceiling".to_owned(),
            Ink::Runtime(place) => format!("--runtime-{place}"),
        }
    }
}

/// The drawing with variables instead of placeholders.
pub(super) fn themed(svg: &str) -> String {
    Ink::all().fold(svg.to_owned(), |svg, ink| {
        svg.replace(&format!("#01FE{:02X}", ink.number()), &format!("var({})", ink.variable()))
    })
}
