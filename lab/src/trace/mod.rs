//! Recordings of `LOCKSLEY_TRACE`: what each worker did, as text and as a page.

mod html;
mod summary;

pub use html::page;
pub use summary::summary;
