//! The type parameter by which a loop has a token or not.

use crate::cancellation::{Cancellation, Cancelled};

/// The token of a loop: a reference to a [`Cancellation`], or `()` for none.
///
/// It is a type parameter, so a loop without a token checks no token and returns no error.
pub trait Token: Copy + Send + Sync {
    /// The return type of a loop: `R`, or `Result<R, Cancelled>`.
    type Outcome<R>;

    /// Called before the loop divides, and before each leaf.
    #[doc(hidden)]
    fn is_cancelled(self) -> bool;

    /// The outcome of a loop: `None` if the token has stopped it.
    #[doc(hidden)]
    fn outcome<R>(result: Option<R>) -> Self::Outcome<R>;
}

impl Token for () {
    type Outcome<R> = R;

    #[inline(always)]
    fn is_cancelled(self) -> bool {
        false
    }

    fn outcome<R>(result: Option<R>) -> R {
        result.expect("no token stops the loop, and a panic of a part comes out of it")
    }
}

impl Token for &Cancellation {
    type Outcome<R> = Result<R, Cancelled>;

    #[inline(always)]
    fn is_cancelled(self) -> bool {
        Cancellation::is_cancelled(self)
    }

    fn outcome<R>(result: Option<R>) -> Result<R, Cancelled> {
        result.ok_or(Cancelled)
    }
}
