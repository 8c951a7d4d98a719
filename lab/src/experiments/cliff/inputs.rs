//! The applications, and how large they are.

/// Applications, in sizes for a full and for a quick run ("": none).
pub(super) type Inputs = [(&'static str, &'static str, &'static str)];
/// Those of the Hood papers, `heat` with shorter and with longer phases, and `knary`.
pub(super) const INPUTS: &Inputs = &[
    ("heat", "1024x512x400", "1024x512x40"),
    ("heat", "16384x1024x12", "4096x1024x6"),
    ("heat", "4096x512x100", ""),
    ("mm", "1024", "512"),
    ("lu", "2048", "512"),
    ("barnes", "16384x10", "4096x3"),
    ("msort", "32M", "1M"),
    ("ray", "4,512x512", "4,128x128"),
    ("knary", "10,5,1", "7,6,1"),
];
/// Those that show the difference between alternatives best.
pub(super) const FOR_ALTERNATIVES: &Inputs = &[
    ("heat", "1024x512x400", "1024x512x40"),
    ("lu", "512", ""),
    ("barnes", "4096x3", ""),
    ("knary", "8,6,1", "7,6,1"),
    ("msort", "4M", ""),
    ("mm", "1024", ""),
    ("ray", "4,256x256", ""),
];
