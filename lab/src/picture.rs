//! Pictures as PNG files.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use crate::fault::{Fault, Outcome};

/// A picture of eight bits a colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    width: usize,
    height: usize,
    /// Red, green and blue of each pixel, row by row.
    bytes: Vec<u8>,
}

impl Picture {
    /// The picture of these pixels, row by row. One is as bright as a colour can be.
    pub fn new(width: usize, height: usize, pixels: &[[f64; 3]]) -> Picture {
        // As a cast does, brighter ones are cut off, and what is no number is dark.
        let bytes = pixels.as_flattened().iter().map(|light| (light * 255.0).round() as u8);
        Picture { width, height, bytes: bytes.collect() }
    }

    /// Writes the picture to a file.
    pub fn write(&self, path: &Path) -> Outcome<()> {
        self.encode(path)
            .map_err(|reason| Fault::run(format!("cannot write {}: {reason}", path.display())))
    }

    fn encode(&self, path: &Path) -> Result<(), String> {
        let side = |side: usize| u32::try_from(side).map_err(|_| "it is too large".to_owned());
        let (width, height) = (side(self.width)?, side(self.height)?);
        let file = File::create(path).map_err(|error| error.to_string())?;
        let mut encoder = png::Encoder::new(BufWriter::new(file), width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(|error| error.to_string())?;
        writer.write_image_data(&self.bytes).map_err(|error| error.to_string())?;
        // Finishing flushes: a full disk is noticed here at the latest.
        writer.finish().map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("picture.png");
        let pixels = [[0.0, 0.5, 1.0], [2.0, -1.0, f64::NAN]];
        let picture = Picture::new(1, 2, &pixels);
        assert_eq!(picture.bytes, [0, 128, 255, 255, 0, 0]);
        picture.write(&path).unwrap();
        let file = std::io::BufReader::new(File::open(path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!((info.width, info.height), (1, 2));
        assert_eq!(bytes, picture.bytes);
    }
}
