//! Wall-clock moments as text. Takes nanoseconds since 1970 and never asks a clock.

/// A moment in UTC, split into fields.
struct Civil {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    milli: u64,
}

/// Days to date after Howard Hinnant's `civil_from_days`, for days since 1970 only.
fn civil(unix_ns: u64) -> Civil {
    let seconds = unix_ns / 1_000_000_000;
    let day_seconds = seconds % 86_400;
    let shifted = seconds / 86_400 + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    Civil {
        year: year_of_era + era * 400 + u64::from(month <= 2),
        month,
        day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
        hour: day_seconds / 3600,
        minute: day_seconds / 60 % 60,
        second: day_seconds % 60,
        milli: unix_ns / 1_000_000 % 1000,
    }
}

/// RFC 3339 in UTC with milliseconds, as in `2026-11-30T13:35:33.042Z`.
#[must_use]
pub fn rfc3339(unix_ns: u64) -> String {
    let Civil { year, month, day, hour, minute, second, milli } = civil(unix_ns);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The same moment for file names, as in `20261130T133533Z`.
#[must_use]
pub fn compact(unix_ns: u64) -> String {
    let Civil { year, month, day, hour, minute, second, .. } = civil(unix_ns);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// A run id that no other run on this host has: the moment to the millisecond and the process id.
#[must_use]
pub fn run_id(unix_ns: u64, pid: u32) -> String {
    format!("{}-{:03}-{pid}", compact(unix_ns), unix_ns / 1_000_000 % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        let table = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_164_800, "2024-02-29T00:00:00.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ];
        for (seconds, text) in table {
            assert_eq!(rfc3339(seconds * 1_000_000_000), text);
        }
        assert_eq!(run_id(1_709_164_800_042_999_999, 7), "20240229T000000Z-042-7");
    }
}
