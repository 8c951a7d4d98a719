//! The ends of channels before they belong to a process, and how they come to.

use std::fmt;
use std::sync::Arc;

use super::channel::{AnyChannel, Channel, Receiver, Sender};
use super::graph::{Graph, Link};

/// The end of a channel at which somebody will send: a process that is given it has it as a [`Sender`].
///
/// If it is dropped instead, the channel is closed.
pub struct Outlet<T>(Option<Arc<Channel<T>>>);

/// The end of a channel at which somebody will receive: a process that is given it has it as a [`Receiver`].
///
/// If it is dropped instead, what is sent is discarded.
pub struct Inlet<T>(Option<Arc<Channel<T>>>);

/// Ends of channels that a process may be given: [`Outlet`] and [`Inlet`], and tuples, arrays, vectors and options of such.
///
/// A type of your own that is made of them is one too:
/// ```
/// use locksley::kahn::{Declared, Inlet, Network, Outlet, Owner, Ports, Receiver, Sender};
///
/// struct Stage { input: Inlet<u32>, output: Outlet<u32> }
/// struct Owned { input: Receiver<u32>, output: Sender<u32> }
///
/// impl Ports for Stage {
///     type Owned = Owned;
///     fn declare(&self, declared: &mut Declared<'_>) {
///         self.input.declare(declared);
///         self.output.declare(declared);
///     }
///     fn own(self, owner: &Owner<'_>) -> Owned {
///         Owned { input: self.input.own(owner), output: self.output.own(owner) }
///     }
/// }
/// # let mut network = Network::new();
/// # let (start, input) = network.channel("in", 1);
/// # let (output, end) = network.channel("out", 1);
/// # network.process("one", start, async |mut start| start.send(7).await);
/// # let product = network.process("last", end, async |mut end: Receiver<u32>| end.recv().await);
/// network.process("double", Stage { input, output }, async |mut stage: Owned| {
///     while let Some(n) = stage.input.recv().await {
///         stage.output.send(2 * n).await;
///     }
/// });
/// # network.run(&locksley::Pool::new(1)?)?;
/// # assert_eq!(product.take(), Some(Some(14)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Ports: Send + 'static {
    /// What the process gets.
    type Owned;

    /// Says which ends there are.
    fn declare(&self, declared: &mut Declared<'_>);

    /// Gives them to the process. All that were declared, and no others.
    ///
    /// # Panics
    /// If there is one that was not declared.
    fn own(self, owner: &Owner<'_>) -> Self::Owned;
}

/// The ends that a process is given: see [`Ports`].
pub struct Declared<'n> {
    pub(super) channels: &'n [Arc<dyn AnyChannel>],
    pub(super) links: &'n mut [Link],
    pub(super) process: u32,
}

/// The process that is given ends: see [`Ports`].
pub struct Owner<'g> {
    pub(super) graph: &'g Arc<Graph>,
    pub(super) process: u32,
}

impl Declared<'_> {
    /// The link of a channel of this network.
    fn link<T: Send + 'static>(&mut self, channel: &Arc<Channel<T>>) -> &mut Link {
        let number = channel.core().number() as usize;
        let known = self.channels.get(number).map(|known| Arc::as_ptr(known).cast());
        assert!(known == Some(Arc::as_ptr(channel).cast::<()>()), "{}", of_another(channel));
        &mut self.links[number]
    }
}

impl Owner<'_> {
    fn link<T: Send + 'static>(&self, channel: &Arc<Channel<T>>) -> Link {
        let number = channel.core().number();
        assert!(self.graph.has(number, Arc::as_ptr(channel).cast()), "{}", of_another(channel));
        self.graph.link(number)
    }
}

fn of_another<T: Send + 'static>(channel: &Channel<T>) -> String {
    format!("channel '{}' belongs to another network", channel.core().name())
}

const UNDECLARED: &str = "an end of a channel was not declared by the process that it is given to";
const HERE: &str = "given away once";

impl<T: Send + 'static> Outlet<T> {
    /// The only one of its channel.
    pub(super) fn new(channel: Arc<Channel<T>>) -> Self {
        Self(Some(channel))
    }
}

impl<T: Send + 'static> Inlet<T> {
    /// The only one of its channel.
    pub(super) fn new(channel: Arc<Channel<T>>) -> Self {
        Self(Some(channel))
    }
}

impl<T: Send + 'static> Ports for Outlet<T> {
    type Owned = Sender<T>;

    fn declare(&self, declared: &mut Declared<'_>) {
        let process = declared.process;
        declared.link(self.0.as_ref().expect(HERE)).producer = process;
    }

    fn own(mut self, owner: &Owner<'_>) -> Sender<T> {
        let is_ours = owner.link(self.0.as_ref().expect(HERE)).producer == owner.process;
        assert!(is_ours, "{UNDECLARED}");
        let channel = self.0.take().expect(HERE);
        // SAFETY: there is one outlet of each channel, and this was it. Without a sender, nothing is received.
        unsafe { Sender::new(channel, Arc::clone(owner.graph), owner.process) }
    }
}

impl<T: Send + 'static> Ports for Inlet<T> {
    type Owned = Receiver<T>;

    fn declare(&self, declared: &mut Declared<'_>) {
        let process = declared.process;
        declared.link(self.0.as_ref().expect(HERE)).consumer = process;
    }

    fn own(mut self, owner: &Owner<'_>) -> Receiver<T> {
        let is_ours = owner.link(self.0.as_ref().expect(HERE)).consumer == owner.process;
        assert!(is_ours, "{UNDECLARED}");
        let channel = self.0.take().expect(HERE);
        // SAFETY: there is one inlet of each channel, and this was it.
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

impl fmt::Debug for Declared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Declared").field("process", &self.process).finish_non_exhaustive()
    }
}

impl fmt::Debug for Owner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("process", &self.process).finish_non_exhaustive()
    }
}

impl<P: Ports> Ports for Vec<P> {
    type Owned = Vec<P::Owned>;

    fn declare(&self, declared: &mut Declared<'_>) {
        self.iter().for_each(|port| port.declare(declared));
    }

    fn own(self, owner: &Owner<'_>) -> Self::Owned {
        self.into_iter().map(|port| port.own(owner)).collect()
    }
}

impl<P: Ports> Ports for Option<P> {
    type Owned = Option<P::Owned>;

    fn declare(&self, declared: &mut Declared<'_>) {
        self.iter().for_each(|port| port.declare(declared));
    }

    fn own(self, owner: &Owner<'_>) -> Self::Owned {
        self.map(|port| port.own(owner))
    }
}

impl<P: Ports, const N: usize> Ports for [P; N] {
    type Owned = [P::Owned; N];

    fn declare(&self, declared: &mut Declared<'_>) {
        self.iter().for_each(|port| port.declare(declared));
    }

    fn own(self, owner: &Owner<'_>) -> Self::Owned {
        self.map(|port| port.own(owner))
    }
}

macro_rules! tuples {
    ($($name:ident $index:tt),*) => {
        impl<$($name: Ports),*> Ports for ($($name,)*) {
            type Owned = ($($name::Owned,)*);

            #[allow(unused_variables, reason = "there is a tuple of nothing")]
            fn declare(&self, declared: &mut Declared<'_>) {
                $(self.$index.declare(declared);)*
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
