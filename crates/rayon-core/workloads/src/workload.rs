//! What a workload is.

/// Something to compute.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// The size that is measured.
    pub(crate) size: usize,
    /// The largest that can be checked in reasonable time.
    pub(crate) most: usize,
    /// Makes the input.
    pub(crate) prepare: fn(usize, u64) -> Box<dyn Instance>,
}

/// An input, and then its answer.
pub(crate) trait Computation: Send {
    /// What is computed: the same each time, whoever does which part of it.
    type Answer: Clone + PartialEq + Send;

    /// Makes everything as it was before it was computed.
    fn reset(&mut self);

    /// Computes. Called by a worker, and not again before a reset.
    fn run(&mut self);

    /// What was computed.
    fn answer(&self) -> &Self::Answer;

    /// Checks the answer by other means than those that computed it, without rayon.
    fn is_correct(&self) -> bool;
}

/// A computation of any kind, whose answers are checked.
pub(crate) trait Instance: Send {
    /// See [`Computation::reset`].
    fn reset(&mut self);

    /// See [`Computation::run`].
    fn run(&mut self);

    /// Whether the answer is right: checked by other means until one is, and then compared with
    /// that one.
    fn check(&mut self) -> bool;
}

struct Checked<C: Computation> {
    computation: C,
    right: Option<C::Answer>,
}

/// `computation` as an instance.
pub(crate) fn checked<C: Computation + 'static>(computation: C) -> Box<dyn Instance> {
    Box::new(Checked { computation, right: None })
}

impl<C: Computation> Instance for Checked<C> {
    fn reset(&mut self) {
        self.computation.reset();
    }

    fn run(&mut self) {
        self.computation.run();
    }

    fn check(&mut self) -> bool {
        if let Some(right) = &self.right {
            return right == self.computation.answer();
        }
        let is_correct = self.computation.is_correct();
        self.right = is_correct.then(|| self.computation.answer().clone());
        is_correct
    }
}
