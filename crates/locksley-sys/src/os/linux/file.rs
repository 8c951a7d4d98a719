//! Small files of the kernel, and the descriptors that the library opens.
//!
//! Invariant: no descriptor stays open between two calls of the library. A program may close all
//! descriptors from 3 up, as a daemon does when it starts. A kept number would then name a file
//! that the program opens later, and the library would read or close that file.

use std::ffi::CStr;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// A descriptor for the time of one call. Dropping it closes the descriptor.
///
/// Another thread of the program may close all descriptors during the call, and open a file that
/// gets the same number. So the number is closed only if it still names the file that was opened.
/// The standard library's `File` would close it, or end the program in a debug build.
#[derive(Debug)]
pub(super) struct Descriptor {
    number: libc::c_int,
    /// `None` where the system does not tell.
    identity: Option<Identity>,
}

/// Device and inode.
type Identity = (libc::dev_t, libc::ino_t);

impl Descriptor {
    /// Takes over a descriptor that a call of the system has just returned.
    pub(super) fn new(number: libc::c_int) -> Self {
        Self { number, identity: identity(number) }
    }

    fn open(path: &CStr) -> io::Result<Self> {
        // SAFETY: the path ends with a zero, and is only read.
        let number = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        if number < 0 { Err(io::Error::last_os_error()) } else { Ok(Self::new(number)) }
    }

    pub(super) fn number(&self) -> libc::c_int {
        self.number
    }

    /// True if the number still names the file that was opened.
    pub(super) fn is_own(&self) -> bool {
        identity(self.number) == self.identity
    }

    /// Reads from that offset. If the number names a file of the program, the position in that file
    /// does not change, and the result is an error.
    fn read_at(&self, buffer: &mut [u8], offset: usize) -> io::Result<usize> {
        // SAFETY: the kernel writes at most as many bytes as the buffer has.
        let length = unsafe {
            let (to, length) = (buffer.as_mut_ptr().cast(), buffer.len());
            libc::pread(self.number, to, length, offset as libc::off_t)
        };
        let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
        if self.is_own() { Ok(length) } else { Err(io::ErrorKind::NotFound.into()) }
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if self.is_own() {
            // SAFETY: `new` took it over, and nothing else uses it.
            unsafe { libc::close(self.number) };
        }
    }
}

fn identity(number: libc::c_int) -> Option<Identity> {
    // SAFETY: all of it is numbers, which may be 0.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `stat`, for which there is room.
    let answer = unsafe { libc::fstat(number, &raw mut status) };
    (answer == 0).then_some((status.st_dev, status.st_ino))
}

/// Reads the beginning of a file into `buffer`, in one piece. Allocates nothing.
pub(super) fn read<'b>(path: &CStr, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
    let length = Descriptor::open(path)?.read_at(buffer, 0)?;
    Ok(&buffer[..length])
}

/// Reads the beginning of a file of one thread of this process, as [`read`] does.
pub(super) fn read_of_thread<'b>(
    thread: libc::pid_t,
    name: &str,
    buffer: &'b mut [u8],
) -> io::Result<&'b [u8]> {
    // The longest path: a thread's number has at most 10 digits.
    let mut path = [0_u8; 48];
    let mut rest = &mut path[..];
    io::Write::write_fmt(&mut rest, format_args!("/proc/self/task/{thread}/{name}\0"))?;
    let path = CStr::from_bytes_until_nul(&path).map_err(io::Error::other)?;
    read(path, buffer)
}

/// Reads a whole file.
pub(super) fn read_to_string(path: &Path) -> io::Result<String> {
    let path = std::ffi::CString::new(path.as_os_str().to_owned().into_vec())?;
    let file = Descriptor::open(&path)?;
    let (mut bytes, mut length) = (vec![0; 4096], 0);
    loop {
        match file.read_at(&mut bytes[length..], length)? {
            0 => break,
            more => length += more,
        }
        if length == bytes.len() {
            bytes.resize(2 * length, 0);
        }
    }
    bytes.truncate(length);
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::fs::File;
    use std::os::fd::{AsRawFd, IntoRawFd};

    use super::*;

    /// A file without a name, with that text.
    fn memory(text: &str) -> File {
        use std::io::Write;
        use std::os::fd::FromRawFd;
        // SAFETY: the name ends with a zero, and is only read.
        let number = unsafe { libc::memfd_create(c"test".as_ptr(), libc::MFD_CLOEXEC) };
        assert!(number >= 0);
        // SAFETY: the descriptor was opened above, and nothing else uses it.
        let mut file = unsafe { File::from_raw_fd(number) };
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn a_file_is_read_as_the_standard_library_reads_it() {
        for path in ["/proc/version", "/proc/self/mountinfo", "/proc/self/cgroup"] {
            let expected = std::fs::read_to_string(path).unwrap();
            assert_eq!(read_to_string(path.as_ref()).unwrap(), expected, "{path}");
        }
        let mut buffer = [0; 5];
        assert_eq!(read(c"/proc/version", &mut buffer).unwrap(), b"Linux");
    }

    #[test]
    fn a_file_that_is_larger_than_the_buffer_is_read_whole() {
        let folder = std::env::temp_dir().join(format!("locksley-file-{}", std::process::id()));
        for length in [0, 1, 4095, 4096, 4097, 100_000] {
            let text: String = (0..length).map(|it| char::from(b'a' + (it % 26) as u8)).collect();
            std::fs::write(&folder, &text).unwrap();
            assert!(read_to_string(&folder).unwrap() == text, "{length} bytes");
        }
        std::fs::remove_file(&folder).unwrap();
    }

    #[test]
    fn an_error_says_what_is_wrong() {
        let kind = |path: &str| read_to_string(path.as_ref()).unwrap_err().kind();
        assert_eq!(kind("/proc/no such file"), io::ErrorKind::NotFound);
        assert_eq!(kind("/proc/version/x"), io::ErrorKind::NotADirectory);
        assert_eq!(kind("/proc"), io::ErrorKind::IsADirectory);
        assert_eq!(kind("/proc/\0"), io::ErrorKind::InvalidInput);
        assert!(read_of_thread(0, "stat", &mut [0; 8]).is_err());
        assert!(read_of_thread(1, &"x".repeat(100), &mut [0; 8]).is_err());
    }

    #[test]
    fn a_descriptor_is_closed_if_it_is_still_the_same_file() {
        let file = memory("own");
        let copy = file.try_clone().unwrap().into_raw_fd();
        drop(Descriptor::new(copy));
        // Another test may open a file of that number meanwhile.
        assert_ne!(identity(copy), identity(file.as_raw_fd()));
    }

    #[test]
    fn a_number_that_names_another_file_is_left_alone() {
        let (opened, of_program) = (memory("opened"), memory("program"));
        let descriptor = Descriptor::new(opened.into_raw_fd());
        let mut buffer = [0; 16];
        assert_eq!(descriptor.read_at(&mut buffer, 0).unwrap(), 6);
        // SAFETY: both are open. What `descriptor` names is replaced, which it has to notice.
        let number = unsafe { libc::dup2(of_program.as_raw_fd(), descriptor.number()) };
        assert_eq!(number, descriptor.number());
        assert!(!descriptor.is_own());
        assert!(descriptor.read_at(&mut buffer, 0).is_err());
        drop(descriptor);
        assert_eq!(identity(number), identity(of_program.as_raw_fd()));
        // SAFETY: opened above, and not closed by the drop.
        unsafe { libc::close(number) };
    }
}
