//! The memory of the board: a file in `/dev/shm`, which processes of one user map.
//!
//! The file is the user's, and no other user may open it. A process that finds anything else there
//! has no board. The file may be removed at any time: processes that have mapped it go on with it,
//! and later ones make another. It must not be truncated while it is mapped.

use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::{ptr, slice};

use super::file::Descriptor;
use super::last_error;
use crate::os::board::Seat;

/// One page.
const SEATS: usize = 256;
const BYTES: usize = SEATS * size_of::<Seat>();

/// The seats, mapped once for the life of the process.
pub(crate) fn seats() -> Option<&'static [Seat]> {
    mapped().ok()
}

/// True if the file can be made, probably. It is made for pools only that ask for a board.
pub(crate) fn probe() -> Result<(), String> {
    // SAFETY: the path ends with a zero, and is only read.
    let answer =
        unsafe { libc::access(c"/dev/shm".as_ptr(), libc::R_OK | libc::W_OK | libc::X_OK) };
    if answer == 0 { Ok(()) } else { Err(format!("/dev/shm: {}", last_error())) }
}

/// No lock: a child may be forked meanwhile.
fn mapped() -> Result<&'static [Seat], String> {
    static MAPPED: AtomicPtr<Seat> = AtomicPtr::new(ptr::null_mut());
    let mut pages = MAPPED.load(Ordering::Acquire);
    if pages.is_null() {
        // SAFETY: no memory is involved.
        let user = unsafe { libc::geteuid() };
        // Another layout of the seats gets another number.
        let path = CString::new(format!("/dev/shm/locksley-1-{user}"));
        pages = map(&path.map_err(|error| error.to_string())?, user)?;
        // Release pairs with the acquire: a thread that loads the address uses mapped pages.
        let (success, failure) = (Ordering::Release, Ordering::Acquire);
        let first = MAPPED.compare_exchange(ptr::null_mut(), pages, success, failure);
        if let Err(other) = first {
            // SAFETY: mapped above, and no other thread has the address.
            unsafe { libc::munmap(pages.cast(), BYTES) };
            pages = other;
        }
    }
    // SAFETY: a page is mapped for the life of the process, and aligned for a `Seat`. Seats are
    // atomic words, which other processes change at any time, and any bits are a value of them.
    Ok(unsafe { slice::from_raw_parts(pages, SEATS) })
}

/// Maps the file, and makes it if there is none.
fn map(path: &CStr, user: libc::uid_t) -> Result<*mut Seat, String> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: the path ends with a zero, and is only read.
    let number = unsafe { libc::open(path.as_ptr(), flags, 0o600) };
    if number < 0 {
        return Err(format!("{}: {}", path.to_string_lossy(), last_error()));
    }
    // Closed at the end: a mapping keeps what it needs.
    let file = Descriptor::new(number);
    check(&file, user).map_err(|error| format!("{}: {error}", path.to_string_lossy()))?;
    // SAFETY: a new mapping, at an address that the kernel chooses.
    let pages = unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(ptr::null_mut(), BYTES, access, libc::MAP_SHARED, file.number(), 0)
    };
    if pages == libc::MAP_FAILED {
        return Err(last_error());
    }
    if !file.is_own() {
        // SAFETY: mapped above, and no other thread has the address.
        unsafe { libc::munmap(pages, BYTES) };
        return Err("the descriptor was closed meanwhile".to_owned());
    }
    Ok(pages.cast())
}

/// Makes sure that the file is the user's alone, and has memory for all seats: a write to a mapped
/// page without any would end the process.
fn check(file: &Descriptor, user: libc::uid_t) -> Result<(), String> {
    // SAFETY: all of it is numbers, which may be 0.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `stat`, for which there is room.
    if unsafe { libc::fstat(file.number(), &raw mut status) } != 0 {
        return Err(last_error());
    }
    let is_file = status.st_mode & libc::S_IFMT == libc::S_IFREG;
    let has_one_name = status.st_nlink == 1;
    if !is_file || !has_one_name || status.st_uid != user || status.st_mode & 0o077 != 0 {
        return Err("this is not a file of this user alone".to_owned());
    }
    // The number may name a file of the program by now, which no call may change.
    let is_own = || file.is_own().then_some(()).ok_or("the descriptor was closed meanwhile");
    if status.st_mode & 0o777 != 0o600 {
        is_own()?;
        // The mask of the process that made it has taken bits away.
        // SAFETY: no memory is involved.
        if unsafe { libc::fchmod(file.number(), 0o600) } != 0 {
            return Err(last_error());
        }
    }
    if status.st_size >= BYTES as libc::off_t && status.st_blocks > 0 {
        return Ok(());
    }
    is_own()?;
    // SAFETY: no memory is involved.
    match unsafe { libc::posix_fallocate(file.number(), 0, BYTES as libc::off_t) } {
        0 => Ok(()),
        error => Err(std::io::Error::from_raw_os_error(error).to_string()),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    fn user() -> libc::uid_t {
        // SAFETY: no memory is involved.
        unsafe { libc::geteuid() }
    }

    fn path(name: &str) -> (PathBuf, CString) {
        let path = std::env::temp_dir().join(format!("locksley-board-{}-{name}", user()));
        let _ = fs::remove_file(&path);
        let text = CString::new(path.to_str().unwrap()).unwrap();
        (path, text)
    }

    #[test]
    fn what_is_written_on_one_mapping_is_read_on_another_and_by_no_other_user() {
        let (path, text) = path("mapped");
        // SAFETY: mapped, and never unmapped.
        let map = || unsafe { slice::from_raw_parts(map(&text, user()).unwrap(), SEATS) };
        let (first, second) = (map(), map());
        let mut board = crate::os::board::Board::at(first, 1);
        let mut other = crate::os::board::Board::at(second, 3);
        assert_eq!(board.exchange(8 * crate::os::PARTS, 8), Some(8));
        assert_eq!(other.exchange(8 * crate::os::PARTS, 8), Some(4));
        let status = fs::metadata(&path).unwrap();
        assert_eq!((status.len(), status.permissions().mode() & 0o777), (BYTES as u64, 0o600));
        // It may be removed at any time.
        fs::remove_file(&path).unwrap();
        assert_eq!(board.exchange(8 * crate::os::PARTS, 8), Some(4));
    }

    #[test]
    fn a_short_file_is_extended() {
        let (path, text) = path("short");
        fs::write(&path, "x").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        map(&text, user()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), BYTES as u64);
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn what_is_not_a_file_of_this_user_alone_is_refused() {
        let refused = |text: &CStr, user| map(text, user).map(drop).unwrap_err();
        let (open, text) = path("open");
        fs::write(&open, "").unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o640)).unwrap();
        assert!(refused(&text, user()).contains("not a file of this user alone"));
        fs::set_permissions(&open, Permissions::from_mode(0o600)).unwrap();
        assert!(refused(&text, user() + 1).contains("not a file of this user alone"));
        let (name, text_of_name) = path("name");
        fs::hard_link(&open, &name).unwrap();
        assert!(refused(&text_of_name, user()).contains("not a file of this user alone"));
        fs::remove_file(&name).unwrap();
        let (link, text) = path("link");
        std::os::unix::fs::symlink(&open, &link).unwrap();
        refused(&text, user());
        refused(c"/dev/null", user());
        refused(c"/dev/shm", user());
        refused(c"/no such folder/board", user());
        fs::remove_file(&link).unwrap();
        fs::remove_file(&open).unwrap();
    }
}
