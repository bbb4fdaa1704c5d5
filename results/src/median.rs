//! The middle of some figures.

/// The middle one, or the mean of the middle two; `None` without any finite figure.
pub(crate) fn median(figures: impl IntoIterator<Item = f64>) -> Option<f64> {
    let sorted = sorted(figures);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 0 => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
        _ => Some(sorted[middle]),
    }
}

/// The middle one, or the lower of the middle two: a figure that was really measured. `None` without any finite figure.
pub(crate) fn lower_median(figures: impl IntoIterator<Item = f64>) -> Option<f64> {
    let sorted = sorted(figures);
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}

fn sorted(figures: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = figures.into_iter().filter(|figure| figure.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_odd_and_even_counts() {
        assert_eq!((median([]), lower_median([])), (None, None));
        assert_eq!((median([3.0]), lower_median([3.0])), (Some(3.0), Some(3.0)));
        assert_eq!((median([4.0, 1.0]), lower_median([4.0, 1.0])), (Some(2.5), Some(1.0)));
        assert_eq!((median([9.0, 1.0, 2.0]), lower_median([9.0, 1.0, 2.0])), (Some(2.0), Some(2.0)));
        assert_eq!(median([1.0, f64::NAN, 3.0]), Some(2.0));
    }
}
