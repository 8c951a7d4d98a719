//! Options with defaults, and costs by name. What system calls cost.

/// Declares a struct of options: each with what it means, its type and its default.
macro_rules! options {
    ($(#[$doc:meta])* pub struct $name:ident {
        $($(#[$field_doc:meta])* $field:ident: $t:ty = $value:expr,)*
    }) => {
        $(#[$doc])*
        pub struct $name {
            $($(#[$field_doc])* pub $field: $t,)*
        }

        impl $name {
            pub(crate) const DEFAULT: Self = Self { $($field: $value,)* };
        }

        impl Default for $name {
            fn default() -> Self {
                Self::DEFAULT
            }
        }
    };
}

/// Declares a struct of costs: each with what it means and its default, in nanoseconds.
macro_rules! costs {
    ($(#[$doc:meta])* pub struct $name:ident {
        $($(#[$field_doc:meta])* $field:ident = $value:expr,)*
    }) => {
        crate::costs::options! {
            $(#[$doc])*
            pub struct $name { $($(#[$field_doc])* $field: $crate::Nanos = $value,)* }
        }

        impl $name {
            /// Nothing costs time. For tests of policies.
            pub const FREE: Self = Self { $($field: 0,)* };
            pub(crate) const NAMES: &[&str] = &[$(stringify!($field),)*];

            pub(crate) fn by_name(&mut self, name: &str) -> Option<&mut $crate::Nanos> {
                match name {
                    $(stringify!($field) => Some(&mut self.$field),)*
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use {costs, options};

costs! {
    /// Costs of system calls and of the clock, in nanoseconds of the caller's processor.
    ///
    /// `futex_lock`, `spawn`, `thread_clock` and `file` are added to `system_call`; `membarrier`
    /// includes it. `membarrier_each` is paid for each processor that is interrupted, `interrupt`
    /// by that processor, and `clock` is no call. *Fitted*: chosen so that small programs take as
    /// long as on a host (`examples/calibrate`). What the scheduler does is in
    /// [`KernelCosts`](crate::kernel::KernelCosts), and what cache lines cost in
    /// [`CacheCosts`](crate::coherence::CacheCosts).
    ///
    /// The defaults were measured on two virtual processors of an AMD EPYC under Linux 6.18, where
    /// nothing else is said.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SystemCosts {
        /// To enter and leave the kernel.
        system_call = 150,
        /// How long a call to a futex holds the lock of the futex's bucket. Calls queue for it.
        /// Fitted.
        futex_lock = 50,
        /// To make a thread. Fitted.
        spawn = 10_000,
        /// `membarrier`, without what it costs for each processor that runs the program.
        membarrier = 1_800,
        /// `membarrier`, for each other processor that runs the program: what the caller waits for.
        membarrier_each = 1_150,
        /// What an interrupt takes from the processor that gets it. Fitted.
        interrupt = 1_000,
        /// To read the clock.
        clock = 20,
        /// To read a thread's processor time.
        thread_clock = 300,
        /// To open, read and close a small file of `/proc` or of a control group.
        file = 2_500,
    }
}
