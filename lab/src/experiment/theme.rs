//! How runtimes are drawn. Charts are drawn in placeholder colours, which become variables of the
//! style sheet: one drawing serves light and dark pages.

use std::fmt::Write;

use plotters::style::RGBColor;

/// The colours of the page: name, in light, in dark.
const PAGE: [(&str, &str, &str); 6] = [
    ("text", "#23272b", "#e3e6e8"),
    ("grid", "#d9dbdd", "#3b4248"),
    ("ideal", "#7a8188", "#8f989f"),
    ("ceiling", "#b8860b", "#e0b64a"),
    ("page", "#fbfaf7", "#15181b"),
    ("card", "#ffffff", "#1d2125"),
];

/// The colours of runtimes: in light, in dark.
const PALETTE: [(&str, &str); 9] = [
    ("#0063a8", "#3fa0f0"),
    ("#009e73", "#2fc79a"),
    ("#d55e00", "#ff8a3d"),
    ("#7a8188", "#8f989f"),
    ("#7a5cc7", "#a78bfa"),
    ("#cc79a7", "#e79cc2"),
    ("#56b4e9", "#8fd0f5"),
    ("#8a6d3b", "#c9a86a"),
    ("#a05195", "#d487c9"),
];

/// The runtimes that have the first colours of the palette wherever they occur.
const FIXED: [&str; 4] = ["locksley", "rayon", "static", "serial"];

/// A colour of a chart, to be replaced by a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Text,
    Grid,
    Ideal,
    Ceiling,
    /// A colour of the palette.
    Runtime(usize),
}

impl Ink {
    /// The colour of a runtime: the same in all charts.
    pub(super) fn of(runtime: &str) -> Ink {
        let place = FIXED.iter().position(|name| *name == runtime);
        Ink::Runtime(place.unwrap_or_else(|| {
            let sum = runtime.bytes().fold(0usize, |sum, byte| sum * 31 % 8191 + usize::from(byte));
            FIXED.len() + sum % (PALETTE.len() - FIXED.len())
        }))
    }

    fn all() -> impl Iterator<Item = Ink> {
        let runtimes = (0..PALETTE.len()).map(Ink::Runtime);
        [Ink::Text, Ink::Grid, Ink::Ideal, Ink::Ceiling].into_iter().chain(runtimes)
    }

    /// The placeholder: a colour that is not in use otherwise.
    pub(super) fn colour(self) -> RGBColor {
        let number = match self {
            Ink::Text => 1,
            Ink::Grid => 2,
            Ink::Ideal => 3,
            Ink::Ceiling => 4,
            Ink::Runtime(place) => 16 + place as u8,
        };
        RGBColor(1, 254, number)
    }

    fn variable(self) -> String {
        match self {
            Ink::Text => "--text".to_owned(),
            Ink::Grid => "--grid".to_owned(),
            Ink::Ideal => "--ideal".to_owned(),
            Ink::Ceiling => "--ceiling".to_owned(),
            Ink::Runtime(place) => format!("--runtime-{place}"),
        }
    }
}

/// Whether the line of a runtime is dashed: the variants of one runtime are told apart by that.
pub(super) fn is_dashed(runtime: &str) -> bool {
    runtime.contains('-')
}

/// A drawing with variables instead of placeholders.
pub(super) fn themed(svg: &str) -> String {
    Ink::all().fold(svg.to_owned(), |svg, ink| {
        let RGBColor(red, green, blue) = ink.colour();
        let placeholder = format!("#{red:02X}{green:02X}{blue:02X}");
        svg.replace(&placeholder, &format!("var({})", ink.variable()))
    })
}

/// The variables, for light and dark pages.
pub(super) fn style_sheet() -> String {
    let colours = |is_dark: bool| {
        let mut text = String::from(":root {");
        let chosen = |light, dark| if is_dark { dark } else { light };
        for (name, light, dark) in PAGE {
            // Writing to a string does not fail.
            let _ = write!(text, " --{name}: {};", chosen(light, dark));
        }
        for (place, (light, dark)) in PALETTE.iter().enumerate() {
            let _ = write!(text, " --runtime-{place}: {};", chosen(light, dark));
        }
        text + " }\n"
    };
    format!("{}@media (prefers-color-scheme: dark) {{ {} }}\n", colours(false), colours(true))
}
