//! The ends of channels before they belong to a process.

use std::fmt;
use std::sync::Arc;

use super::channel::{AnyChannel, Channel};
use super::ends::{receiver::Receiver, sender::Sender};
use super::graph::{Graph, Link};

/// The sending end of a channel, before it is given to a process, which has it as a [`Sender`].
///
/// If it is dropped instead, the channel is closed.
pub struct Outlet<T>(pub(super) Option<Arc<Channel<T>>>);

/// The receiving end of a channel, before it is given to a process, which has it as a [`Receiver`].
///
/// If it is dropped instead, what is sent is discarded.
pub struct Inlet<T>(pub(super) Option<Arc<Channel<T>>>);

/// Ends of channels that a process may be given: [`Outlet`] and [`Inlet`], and tuples and vectors
/// of these. Name it in generic code that adds processes. It cannot be implemented elsewhere.
pub trait Ports: Send + 'static {
    /// What the process gets.
    type Owned: Send;

    #[doc(hidden)]
    #[track_caller]
    fn declare(&self, registry: &mut PortRegistry<'_>);

    #[doc(hidden)]
    fn own(self, owner: &Owner<'_>) -> Self::Owned;
}

/// Registers which process is given the ends of channels.
pub struct PortRegistry<'n> {
    pub(super) channels: &'n [Arc<dyn AnyChannel>],
    pub(super) links: &'n mut [Link],
    pub(super) process: u32,
}

/// The process that owns ends from now on.
pub struct Owner<'g> {
    pub(super) graph: &'g Arc<Graph>,
    pub(super) process: u32,
}

impl PortRegistry<'_> {
    /// The link of a channel of this network.
    #[track_caller]
    fn link<T: Send + 'static>(&mut self, channel: &Arc<Channel<T>>) -> &mut Link {
        let number = channel.core().number as usize;
        let registered = self.channels.get(number).map(|it| Arc::as_ptr(it).cast::<()>());
        assert!(
            registered == Some(Arc::as_ptr(channel).cast()),
            "channel '{}' belongs to another network",
            channel.core().name
        );
        &mut self.links[number]
    }
}

const ONCE: &str = "given away once";

impl<T: Send + 'static> Ports for Outlet<T> {
    type Owned = Sender<T>;

    #[track_caller]
    fn declare(&self, registry: &mut PortRegistry<'_>) {
        let process = registry.process;
        registry.link(self.0.as_ref().expect(ONCE)).producer = process;
    }

    fn own(mut self, owner: &Owner<'_>) -> Sender<T> {
        let channel = self.0.take().expect(ONCE);
        // SAFETY: each channel has one outlet, and this was it.
        unsafe { Sender::new(channel, Arc::clone(owner.graph), owner.process) }
    }
}

impl<T: Send + 'static> Ports for Inlet<T> {
    type Owned = Receiver<T>;

    #[track_caller]
    fn declare(&self, registry: &mut PortRegistry<'_>) {
        let process = registry.process;
        registry.link(self.0.as_ref().expect(ONCE)).consumer = process;
    }

    fn own(mut self, owner: &Owner<'_>) -> Receiver<T> {
        let channel = self.0.take().expect(ONCE);
        // SAFETY: each channel has one inlet, and this was it.
        unsafe { Receiver::new(channel, Arc::clone(owner.graph), owner.process) }
    }
}

impl<T> Drop for Outlet<T> {
    fn drop(&mut self) {
        if let Some(channel) = &self.0 {
            channel.close();
        }
    }
}

impl<T> Drop for Inlet<T> {
    fn drop(&mut self) {
        if let Some(channel) = &self.0 {
            channel.abandon();
        }
    }
}

impl<T> fmt::Debug for Outlet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Inlet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inlet").finish_non_exhaustive()
    }
}

impl<P: Ports> Ports for Vec<P> {
    type Owned = Vec<P::Owned>;

    #[track_caller]
    fn declare(&self, registry: &mut PortRegistry<'_>) {
        for port in self {
            port.declare(registry);
        }
    }

    fn own(self, owner: &Owner<'_>) -> Self::Owned {
        self.into_iter().map(|port| port.own(owner)).collect()
    }
}

macro_rules! tuples {
    ($($name:ident $index:tt),*) => {
        impl<$($name: Ports),*> Ports for ($($name,)*) {
            type Owned = ($($name::Owned,)*);

            #[allow(unused_variables, reason = "there is an empty tuple")]
            #[track_caller]
            fn declare(&self, registry: &mut PortRegistry<'_>) {
                $(self.$index.declare(registry);)*
            }

            #[allow(unused_variables, clippy::unused_unit, reason = "as above")]
            fn own(self, owner: &Owner<'_>) -> Self::Owned {
                ($(self.$index.own(owner),)*)
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
