//! What the environment variables OMP_* and GOMP_* say.

mod display;
mod places;
mod process;
mod read;
mod settings;
mod text;

pub(crate) use display::display;
pub(crate) use places::processors;
pub(crate) use process::{read_if_linked, settings};
