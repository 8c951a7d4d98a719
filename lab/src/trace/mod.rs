//! Recordings of `LOCKSLEY_TRACE`: what each worker did, as text and as a page.

mod folder;
mod html;
mod summary;

pub use folder::TraceFolder;
pub use html::page;
pub use summary::summary;
