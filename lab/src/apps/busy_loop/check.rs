//! Every task must have ended where one that ran alone did.

/// Whether all `found` are the `expected` one.
pub(super) fn ends(expected: u64, found: &[u64]) -> Result<(), String> {
    match found.iter().position(|&end| end != expected) {
        Some(task) => {
            Err(format!("task {task} ended with {:#x} instead of {expected:#x}", found[task]))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leaf;

    /// The three shifts as Marsaglia gives them ("Xorshift RNGs", 2003), in a form of their own.
    #[test]
    fn a_task_takes_as_many_steps_as_it_should() {
        for steps in [1u64, 2, 1000] {
            let step = |x: u64| {
                let x = x ^ x.wrapping_mul(1 << 13);
                let x = x ^ (x / (1 << 7));
                x ^ x.wrapping_mul(1 << 17)
            };
            let expected = (0..steps).fold(steps | 1, |x, _| step(x));
            assert_eq!(leaf::run(steps), expected);
        }
    }

    #[test]
    fn a_task_that_did_less_is_rejected() {
        let expected = leaf::run(50);
        assert!(ends(expected, &[expected; 3]).is_ok());
        assert!(ends(expected, &[expected, expected, leaf::run(49)]).is_err());
        assert!(ends(expected, &[0, expected]).unwrap_err().contains("task 0"));
    }
}
