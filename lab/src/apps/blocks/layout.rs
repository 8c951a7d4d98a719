//! Blocks along a Z curve: the index interleaves the bits of row and column, so each quarter of the
//! matrix is contiguous.

/// The index of the block in this row and column.
pub(in crate::apps) fn index(row: usize, column: usize) -> usize {
    spread(row) << 1 | spread(column)
}

/// The row and column of the block with this index.
pub(in crate::apps) fn place(index: usize) -> (usize, usize) {
    (gather(index >> 1), gather(index))
}

/// The four quarters of a matrix: upper left, upper right, lower left, lower right.
pub(in crate::apps) fn quarters<T>(matrix: &[T]) -> [&[T]; 4] {
    let (upper, lower) = matrix.split_at(matrix.len() / 2);
    let (upper_left, upper_right) = upper.split_at(upper.len() / 2);
    let (lower_left, lower_right) = lower.split_at(lower.len() / 2);
    [upper_left, upper_right, lower_left, lower_right]
}

/// The four quarters of a matrix, to be written.
pub(in crate::apps) fn quarters_mut<T>(matrix: &mut [T]) -> [&mut [T]; 4] {
    let (upper, lower) = matrix.split_at_mut(matrix.len() / 2);
    let (upper_left, upper_right) = upper.split_at_mut(upper.len() / 2);
    let (lower_left, lower_right) = lower.split_at_mut(lower.len() / 2);
    [upper_left, upper_right, lower_left, lower_right]
}

fn spread(number: usize) -> usize {
    (0..usize::BITS / 2).fold(0, |bits, bit| bits | (number >> bit & 1) << (2 * bit))
}

fn gather(bits: usize) -> usize {
    (0..usize::BITS / 2).fold(0, |number, bit| number | (bits >> (2 * bit) & 1) << bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_and_place_agree_and_quarters_are_contiguous() {
        for at in 0..256 {
            let (row, column) = place(at);
            assert_eq!(index(row, column), at);
            assert_eq!(at / 64, row / 8 * 2 + column / 8);
        }
        let all: Vec<usize> = (0..16).collect();
        assert_eq!(quarters(&all)[2], [8, 9, 10, 11]);
    }
}
