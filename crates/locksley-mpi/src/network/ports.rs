//! The ends of channels before they belong to a process.

use std::fmt;

/// The sending end of a channel, before it is given to a process.
///
/// If it is dropped instead, the channel is closed.
pub struct Outlet<T> {
    pub(super) channel: usize,
    pub(super) end: locksley_kahn::Outlet<T>,
}

/// The receiving end of a channel, before it is given to a process.
///
/// If it is dropped instead, what is sent is discarded.
pub struct Inlet<T> {
    pub(super) channel: usize,
    pub(super) end: locksley_kahn::Inlet<T>,
}

/// Ends of channels that a process may be given: [`Outlet`] and [`Inlet`], and tuples and vectors
/// of these.
pub trait Ports: Send + 'static {
    /// The same ends, on one machine.
    type Local: locksley_kahn::Ports;

    /// Calls `declare` with each channel, and true for its sending end.
    fn declare(&self, declare: &mut dyn FnMut(usize, bool));

    /// Gives the ends to a process of this rank.
    fn localize(self) -> Self::Local;
}

impl<T: Send + 'static> Ports for Outlet<T> {
    type Local = locksley_kahn::Outlet<T>;

    fn declare(&self, declare: &mut dyn FnMut(usize, bool)) {
        declare(self.channel, true);
    }

    fn localize(self) -> Self::Local {
        self.end
    }
}

impl<T: Send + 'static> Ports for Inlet<T> {
    type Local = locksley_kahn::Inlet<T>;

    fn declare(&self, declare: &mut dyn FnMut(usize, bool)) {
        declare(self.channel, false);
    }

    fn localize(self) -> Self::Local {
        self.end
    }
}

impl<P: Ports> Ports for Vec<P> {
    type Local = Vec<P::Local>;

    fn declare(&self, declare: &mut dyn FnMut(usize, bool)) {
        self.iter().for_each(|port| port.declare(declare));
    }

    fn localize(self) -> Self::Local {
        self.into_iter().map(P::localize).collect()
    }
}

macro_rules! tuples {
    ($($name:ident $index:tt),*) => {
        impl<$($name: Ports),*> Ports for ($($name,)*) {
            type Local = ($($name::Local,)*);

            #[allow(unused_variables, reason = "there is an empty tuple")]
            fn declare(&self, declare: &mut dyn FnMut(usize, bool)) {
                $(self.$index.declare(declare);)*
            }

            #[allow(clippy::unused_unit, reason = "as above")]
            fn localize(self) -> Self::Local {
                ($(self.$index.localize(),)*)
            }
        }
    };
}

tuples!();
tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);

impl<T> fmt::Debug for Outlet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet").field("channel", &self.channel).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Inlet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inlet").field("channel", &self.channel).finish_non_exhaustive()
    }
}
