//! Numbers as people read them: three significant digits, one unit per column.

/// Three significant digits without an exponent: `295000`, `12.3`, `0.0801`, `0`.
#[must_use]
pub fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { "-".to_owned() };
    }
    // Rounding can carry into the next power of ten (99.96 to 100), so the exponent is taken from the rounded value.
    let step = 10_f64.powi(exponent(value) - 2);
    let rounded = (value / step).round() * step;
    let decimals = usize::try_from(2 - exponent(rounded)).unwrap_or(0);
    format!("{rounded:.decimals$}")
}

fn exponent(value: f64) -> i32 {
    value.abs().log10().floor() as i32
}

/// A figure or `-`.
#[must_use]
pub fn or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), significant)
}

/// The unit of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// As printed in the heading.
    pub name: &'static str,
    /// Stored units in one of these.
    pub scale: f64,
}

impl Unit {
    /// Microseconds, from nanoseconds.
    pub const US: Self = Self { name: "us", scale: 1e3 };
    /// Mebibytes, from bytes.
    pub const MIB: Self = Self { name: "MiB", scale: 1_048_576.0 };

    const TIME: [Self; 4] =
        [Self { name: "ns", scale: 1.0 }, Self::US, Self { name: "ms", scale: 1e6 }, Self { name: "s", scale: 1e9 }];
    const COUNT: [Self; 3] =
        [Self { name: "", scale: 1.0 }, Self { name: "k", scale: 1e3 }, Self { name: "M", scale: 1e6 }];

    /// The time unit in which the smallest of these nanosecond figures is at least one.
    #[must_use]
    pub fn of_times(values_ns: impl IntoIterator<Item = Option<u64>>) -> Self {
        Self::pick(&Self::TIME, values_ns.into_iter().flatten().map(|ns| ns as f64), Self::US)
    }

    /// The decimal prefix in which the smallest of these counts is at least one.
    #[must_use]
    pub fn of_counts(values: impl IntoIterator<Item = Option<f64>>) -> Self {
        Self::pick(&Self::COUNT, values.into_iter().flatten(), Self::COUNT[0])
    }

    fn pick(units: &[Self], values: impl Iterator<Item = f64>, otherwise: Self) -> Self {
        let Some(smallest) = values.filter(|value| *value > 0.0).reduce(f64::min) else { return otherwise };
        units.iter().rev().find(|unit| smallest >= unit.scale).copied().unwrap_or(units[0])
    }

    /// A figure in this unit, without its name.
    #[must_use]
    pub fn show(self, value: Option<f64>) -> String {
        or_dash(value.map(|value| value / self.scale))
    }

    /// A nanosecond figure in this unit, without its name.
    #[must_use]
    pub fn show_ns(self, value_ns: Option<u64>) -> String {
        self.show(value_ns.map(|ns| ns as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits() {
        let table = [
            (0.0, "0"),
            (0.080_12, "0.0801"),
            (0.999_6, "1.00"),
            (1.0, "1.00"),
            (12.345, "12.3"),
            (99.96, "100"),
            (999.4, "999"),
            (999.6, "1000"),
            (295_432.0, "295000"),
            (-3.456, "-3.46"),
            (f64::NAN, "-"),
        ];
        for (value, text) in table {
            assert_eq!(significant(value), text, "{value}");
        }
    }

    #[test]
    fn one_unit_per_column_and_none_is_lost() {
        assert_eq!(Unit::of_times([Some(80_000), Some(250_000_000), None]).name, "us");
        assert_eq!(Unit::of_times([Some(1_200_000), Some(250_000_000)]).name, "ms");
        assert_eq!(Unit::of_times([Some(3)]).name, "ns");
        assert_eq!(Unit::of_times([None]).name, "us");
        assert_eq!(Unit::of_counts([Some(12_000.0), Some(5e6)]).name, "k");
        assert_eq!(Unit::of_counts([Some(0.0), Some(2e6)]).name, "M");
    }
}
