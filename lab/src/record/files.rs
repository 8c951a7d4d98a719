//! Records as files.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::OnceLock;

use serde::Deserialize;

use super::Document;
use crate::fault::{Fault, Outcome};

/// Makes sure that a record can be written to `path`, before anything is measured: the folder is made, and a file that
/// is there must be a record, which is returned, or be empty. Nothing else is overwritten.
pub fn prepare<D: Document>(path: &Path) -> Outcome<Option<D>> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        make_folder(folder)?;
    }
    if !try_out(path)? {
        return Ok(None);
    }
    // Something like a terminal or a null device is written to, not read.
    let metadata = fs::metadata(path)
        .map_err(|error| Fault::input(format!("cannot read {}: {error}", path.display())))?;
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(None);
    }
    let refused = |fault: Fault| {
        Fault::input(format!("{fault}; it would be overwritten, so please name another file"))
    };
    read(path).map(Some).map_err(refused)
}

/// Makes sure that a file can be written, and leaves all as it was; says whether it exists.
pub fn try_out(path: &Path) -> Outcome<bool> {
    let existed = path.exists();
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .map_err(|error| Fault::input(format!("cannot write {}: {error}", path.display())))?;
    if !existed {
        // It was made to see whether it can be; an empty one would be in nobody's interest.
        let _ = fs::remove_file(path);
    }
    Ok(existed)
}

/// Makes sure that the folder is there.
pub fn make_folder(folder: &Path) -> Outcome<()> {
    fs::create_dir_all(folder).map_err(|error| {
        Fault::input(format!("cannot make the folder {}: {error}", folder.display()))
    })
}

/// Whether two paths, of which neither need exist, lead to one file.
pub fn are_one(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    };
    place(a).is_some_and(|a| Some(a) == place(b))
}

/// The format of the record at `path`; `None` if it says none.
pub fn format_of(path: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Head {
        format: String,
    }
    let head: Head = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
    Some(head.format)
}

/// Reads a record.
pub fn read<D: Document>(path: &Path) -> Outcome<D> {
    let text = fs::read_to_string(path)
        .map_err(|error| Fault::input(format!("cannot read {}: {error}", path.display())))?;
    let record: D = serde_json::from_str(&text).map_err(|error| {
        Fault::input(format!("{} is not a record of this laboratory: {error}", path.display()))
    })?;
    if record.format() != D::FORMAT {
        return Err(Fault::input(format!(
            "{} has the format '{}', and not '{}'",
            path.display(),
            record.format(),
            D::FORMAT
        )));
    }
    match record.flaw() {
        None => Ok(record),
        Some(flaw) => Err(Fault::input(format!("{}: {flaw}", path.display()))),
    }
}

/// Writes a record.
pub fn write(path: &Path, record: &impl Document) -> Outcome<()> {
    let mut text =
        serde_json::to_string_pretty(record).map_err(|error| Fault::run(error.to_string()))?;
    text.push('\n');
    replace(path, &text)
}

/// Writes a file in such a way that whoever looks finds the old content or the new one, never a part.
pub fn replace(path: &Path, text: &str) -> Outcome<()> {
    let fault =
        |error: std::io::Error| Fault::run(format!("cannot write {}: {error}", path.display()));
    if path.exists() && !path.is_file() {
        return fs::write(path, text).map_err(fault);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    fs::write(&new, text).and_then(|()| fs::rename(&new, path)).map_err(|error| {
        let _ = fs::remove_file(&new);
        fault(error)
    })
}

/// A digest of the executable that is running. It is read once.
pub fn digest_of_this_program() -> String {
    static DIGEST: OnceLock<String> = OnceLock::new();
    let digest =
        || std::env::current_exe().map_or_else(|_| "unknown".to_owned(), |path| digest_of(&path));
    DIGEST.get_or_init(digest).clone()
}

/// A digest of the file at `path`.
pub fn digest_of(path: &Path) -> String {
    let digest = File::open(path).and_then(digest);
    digest.map_or_else(|_| "unknown".to_owned(), |digest| format!("{digest:016x}"))
}

fn digest(mut file: File) -> std::io::Result<u64> {
    let mut buffer = vec![0; 1 << 16];
    let mut digest = 0xcbf2_9ce4_8422_2325u64;
    loop {
        let length = match file.read(&mut buffer) {
            Ok(0) => return Ok(digest),
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        // Byte by byte, so that it does not matter how the file comes in.
        for &byte in &buffer[..length] {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(5);
        }
    }
}
