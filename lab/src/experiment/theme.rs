//! How runtimes are drawn. Drawings have the colours of light pages, which the style sheet replaces
//! on dark ones.

/// A colour on light pages, and the one in its place on dark ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ink(u32, u32);

pub(super) const TEXT: Ink = Ink(0x23272b, 0xe3e6e8);
pub(super) const GRID: Ink = Ink(0xd9dbdd, 0x3b4248);
pub(super) const CARD: Ink = Ink(0xffffff, 0x1d2125);
const PAGE: Ink = Ink(0xfbfaf7, 0x15181b);

/// The colours of the lines of reference.
pub(super) const REFERENCES: [Ink; 2] = [Ink(0x7a8188, 0x8f989f), Ink(0xb8860b, 0xe0b64a)];

/// The colours of runtimes.
const PALETTE: [Ink; 9] = [
    Ink(0x0063a8, 0x3fa0f0),
    Ink(0x009e73, 0x2fc79a),
    Ink(0xd55e00, 0xff8a3d),
    Ink(0x7a8188, 0x8f989f),
    Ink(0x7a5cc7, 0xa78bfa),
    Ink(0xcc79a7, 0xe79cc2),
    Ink(0x56b4e9, 0x8fd0f5),
    Ink(0x8a6d3b, 0xc9a86a),
    Ink(0xa05195, 0xd487c9),
];

/// The runtimes that have the first colours of the palette wherever they occur.
const FIXED: [&str; 4] = ["locksley", "rayon", "static", "serial"];

impl Ink {
    /// The colour of a runtime: the same in all charts.
    pub(super) fn of(runtime: &str) -> Ink {
        let place = FIXED.iter().position(|name| *name == runtime);
        PALETTE[place.unwrap_or_else(|| {
            let sum = runtime.bytes().fold(0usize, |sum, byte| sum * 31 % 8191 + usize::from(byte));
            FIXED.len() + sum % (PALETTE.len() - FIXED.len())
        })]
    }

    /// As SVG writes it.
    pub(super) fn hex(self) -> String {
        format!("#{:06X}", self.0)
    }
}

/// Whether the line of a runtime is dashed: the variants of one runtime are told apart by that.
pub(super) fn is_dashed(runtime: &str) -> bool {
    runtime.contains('-')
}

/// The page's colours as variables, and those of drawings on dark pages.
pub(super) fn style_sheet() -> String {
    let page = |chosen: fn(Ink) -> u32| {
        let [text, grid, page, card] = [TEXT, GRID, PAGE, CARD].map(chosen);
        format!(
            ":root {{ --text: #{text:06x}; --grid: #{grid:06x}; --page: #{page:06x}; \
             --card: #{card:06x}; }}\n"
        )
    };
    let replaced = |ink: Ink| {
        let (light, dark) = (ink.hex(), ink.1);
        ["fill", "stroke"].map(|it| format!("[{it}=\"{light}\"] {{ {it}: #{dark:06x}; }}\n"))
    };
    let drawn = [TEXT, GRID, CARD].into_iter().chain(REFERENCES).chain(PALETTE);
    let drawn: String = drawn.flat_map(replaced).collect();
    let (light, dark) = (page(|ink| ink.0), page(|ink| ink.1));
    format!("{light}@media (prefers-color-scheme: dark) {{\n{dark}{drawn}}}\n")
}
