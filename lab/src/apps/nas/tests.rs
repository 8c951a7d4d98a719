use super::*;

/// The next number after `state` as the report computes it, in doubles that hold 46 bits
/// each: an oracle for [`Sequence`].
pub(in crate::apps) fn next_in_doubles(state: &mut f64) -> f64 {
    const HALF: f64 = (1u64 << 23) as f64;
    let split = |number: f64| {
        let high = (number / HALF).floor();
        (high, number - HALF * high)
    };
    let (a_high, a_low) = split(MULTIPLIER as f64);
    let (x_high, x_low) = split(*state);
    let (_, middle) = split(a_high * x_low + a_low * x_high);
    let sum = HALF * middle + a_low * x_low;
    let modulus = HALF * HALF;
    *state = sum - modulus * (sum / modulus).floor();
    *state / modulus
}

#[test]
fn integers_and_doubles_give_the_same_numbers() {
    for seed in [271_828_183, 314_159_265, 1, MASK] {
        let (mut sequence, mut state) = (Sequence::new(seed), seed as f64);
        for _ in 0..10_000 {
            assert_eq!(sequence.next().to_bits(), next_in_doubles(&mut state).to_bits());
        }
    }
}

#[test]
fn a_jump_leads_where_steps_do() {
    let start = Sequence::new(271_828_183);
    let mut walked = start.clone();
    for steps in 0..5000 {
        assert_eq!(start.after(steps).state, walked.state);
        walked.next();
    }
    // The period is 2^44 (Knuth, section 3.2.1.2).
    assert_eq!(start.after(1 << 44).state, start.state);
    assert_ne!(start.after(1 << 43).state, start.state);
}
