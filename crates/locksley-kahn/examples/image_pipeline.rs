//! Softens a picture, as a process network:
//! `cargo run --release -p locksley --example image_pipeline IN.png OUT.png`
//!
//! One process decodes rows, several filter them, and one encodes the filtered rows, in order. No
//! more rows are in memory than the channels hold, however large the picture is. Without files it
//! softens a chessboard, in memory.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Cursor, Seek, Write};
use std::sync::Arc;

use locksley::Pool;
use locksley_kahn::{Network, NetworkReport, Receiver, Sender};

type Fault = Box<dyn Error + Send + Sync>;
type Row = Arc<[u8]>;

/// Softens what is read, and writes it.
pub(crate) fn soften(
    pool: &Pool,
    source: impl BufRead + Seek + Send + 'static,
    target: impl Write + Send + 'static,
) -> Result<NetworkReport, Fault> {
    let mut decoder = png::Decoder::new(source);
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info()?;
    if reader.info().interlaced {
        return Err("the rows of an interlaced picture come in another order".into());
    }
    let (color, depth) = reader.output_color_type();
    let (width, height) = reader.info().size();
    let mut encoder = png::Encoder::new(target, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);

    let mut network = Network::new().measured();
    let filters = pool.workers();
    let (mut to_filters, mut from_filters) = (Vec::new(), Vec::new());
    for n in 0..filters {
        // A row, with the one above and the one below.
        let (rows, row) = network.channel::<[Row; 3]>(format!("rows {n}"), 16);
        let (soft, softened) = network.channel::<Row>(format!("softened {n}"), 16);
        network.process(format!("filter {n}"), (row, soft), async move |(mut rows, mut soft)| {
            while let Some(rows) = rows.recv().await {
                soft.send(mean(&rows, color.samples())).await;
            }
        });
        to_filters.push(rows);
        from_filters.push(softened);
    }
    // An error of this process, or of the last one, is the network's.
    network.try_process("decode", to_filters, async move |mut rows: Vec<Sender<[Row; 3]>>| {
        let mut next = 0;
        let mut last: Option<(Row, Row)> = None;
        while let Some(row) = reader.next_row()? {
            let row = Row::from(row.data());
            let (above, here) = last.unwrap_or_else(|| (row.clone(), row.clone()));
            // The first row is above itself; it goes on when the second one is there.
            if next > 0 {
                let send = &mut rows[(next - 1) % filters];
                send.send([above, here.clone(), row.clone()]).await;
            }
            next += 1;
            last = Some((here, row));
        }
        if let Some((above, here)) = last {
            rows[(next - 1) % filters].send([above, here.clone(), here]).await;
        }
        Ok::<(), Fault>(())
    });
    network.try_process("encode", from_filters, async move |mut rows: Vec<Receiver<Row>>| {
        let mut writer = encoder.write_header()?.into_stream_writer()?;
        for n in 0.. {
            let Some(row) = rows[n % filters].recv().await else { break };
            writer.write_all(&row)?;
        }
        writer.finish()?;
        Ok::<(), Fault>(())
    });
    Ok(network.run(pool)?)
}

/// The mean of each pixel of the middle row and its neighbours.
fn mean(rows: &[Row; 3], samples: usize) -> Row {
    let length = rows[1].len();
    let at = |place: usize| {
        let left = place.checked_sub(samples).unwrap_or(place);
        let right = if place + samples < length { place + samples } else { place };
        let sum: u32 = rows
            .iter()
            .map(|row| u32::from(row[left]) + u32::from(row[place]) + u32::from(row[right]))
            .sum();
        (sum / 9) as u8
    };
    (0..length).map(at).collect()
}

/// A chessboard, as a file in memory.
fn chessboard(side: u32) -> Result<Vec<u8>, Fault> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, side, side);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let pixels: Vec<u8> = (0..side * side)
        .map(|n| if (n / side / 8 + n % side / 8) % 2 == 0 { 255 } else { 0 })
        .collect();
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(file)
}

pub(crate) fn main() -> Result<(), Fault> {
    let pool = Pool::builder().build()?;
    let files: Vec<String> = std::env::args().skip(1).collect();
    let report = match files.as_slice() {
        [source, target] => {
            let target = BufWriter::new(File::create(target)?);
            soften(&pool, BufReader::new(File::open(source)?), target)?
        }
        [] => soften(&pool, Cursor::new(chessboard(256)?), std::io::sink())?,
        _ => return Err("usage: image_pipeline [IN.png OUT.png]".into()),
    };
    // Shows which process the others wait for.
    print!("{}", report.dot());
    Ok(())
}
