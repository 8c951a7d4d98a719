//! The type parameter by which a loop has a token or not.

use std::convert::Infallible;

use crate::cancellation::{Cancellation, Cancelled};

/// The token of a loop: a reference to a [`Cancellation`], or `()` for none.
///
/// It is a type parameter, so a loop without a token checks no token and returns no error.
pub trait Token: Copy + Send + Sync {
    /// The return type of a loop: `R`, or `Result<R, Cancelled>`.
    type Outcome<R>;

    #[doc(hidden)]
    type Stopped: Send;

    /// Called before the loop divides, and before each leaf.
    #[doc(hidden)]
    fn check(self) -> Result<(), Self::Stopped>;

    #[doc(hidden)]
    fn outcome<R>(result: Result<R, Self::Stopped>) -> Self::Outcome<R>;
}

impl Token for () {
    type Outcome<R> = R;
    type Stopped = Infallible;

    #[inline(always)]
    fn check(self) -> Result<(), Infallible> {
        Ok(())
    }

    fn outcome<R>(Ok(result): Result<R, Infallible>) -> R {
        result
    }
}

impl Token for &Cancellation {
    type Outcome<R> = Result<R, Cancelled>;
    type Stopped = Cancelled;

    #[inline(always)]
    fn check(self) -> Result<(), Cancelled> {
        Cancellation::check(self)
    }

    fn outcome<R>(result: Result<R, Cancelled>) -> Result<R, Cancelled> {
        result
    }
}
