//! A chart of ratios to a base with their intervals, a line each. Knows nothing of what was measured.

use crate::limits::MAX_CHART_BARS;
use crate::ratio::PairedRatio;
use crate::report::chart::{Axis, Layout, Shape, svg};
use crate::report::charts::{WIDE, significant_or_zero};

/// Letters of a name that have room beside the chart.
const NAME_CHARS: usize = 28;

/// A wider span of ratios than this has a logarithmic axis: what is near 1 could not be told apart otherwise.
const LINEAR_SPAN: f64 = 4.0;

/// What a line shows of its ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// More than noise, if it is not 1.
    Real,
    /// Perhaps noise.
    Unclear,
    /// What the others are compared with; its ratio is 1 and has no interval.
    Base,
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// Ratio and ends of its interval.
    pub(crate) ratio: f64,
    pub(crate) ends: (f64, f64),
    pub(crate) kind: Kind,
}

impl Line {
    pub(crate) fn of(name: String, ratio: &PairedRatio, kind: Kind) -> Self {
        Self { name, ratio: ratio.ratio, ends: (ratio.low, ratio.high), kind }
    }

    pub(crate) fn base(name: String) -> Self {
        Self { name, ratio: 1.0, ends: (1.0, 1.0), kind: Kind::Base }
    }

    /// Green is cheaper, red dearer, grey neither.
    fn colour(&self) -> usize {
        match self.kind {
            Kind::Real if self.ratio < 1.0 => 2,
            Kind::Real => 1,
            Kind::Unclear | Kind::Base => 6,
        }
    }
}

/// The lines from top to bottom, with an upright at 1; below the chart stands `name`. `None` when there is none. Ratios that are not of this
/// world are left out.
pub(crate) fn chart(title: &str, name: &str, lines: Vec<Line>) -> Option<String> {
    let usable = |ratio: f64| (0.01..100.0).contains(&ratio);
    let lines: Vec<Line> =
        lines.into_iter().take(MAX_CHART_BARS).filter(|line| usable(line.ends.0) && usable(line.ends.1)).collect();
    let low = lines.iter().map(|line| line.ends.0).fold(1.0, f64::min);
    let high = lines.iter().map(|line| line.ends.1).fold(1.0, f64::max);
    let place: fn(f64) -> f64 = if high / low > LINEAR_SPAN { f64::log10 } else { |ratio: f64| ratio };
    let x = if high / low > LINEAR_SPAN {
        Axis::logarithmic(name, low, high, significant_or_zero)
    } else {
        linear(name, low, high)?
    };
    let mut shapes = vec![Shape::Upright { at: place(1.0) }];
    let mut marks = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let at = (lines.len() - index) as f64;
        marks.push((at, line.name.chars().take(NAME_CHARS).collect()));
        let ends = (place(line.ends.0), place(line.ends.1));
        shapes.push(Shape::Interval { at, ends, dot: place(line.ratio), colour: line.colour() });
    }
    let y = Axis { name: String::new(), low: 0.4, high: lines.len() as f64 + 0.6, marks };
    let height = 180 + 60 * u32::try_from(lines.len()).ok()?;
    svg(title, Layout { height, left: 470, legend: None, ..WIDE }, &x, &y, &shapes)
}

fn linear(name: &str, low: f64, high: f64) -> Option<Axis> {
    let room = ((high - low) * 0.05).max(0.01);
    let span = Axis::from_zero("", high - low + 2.0 * room, |_| String::new());
    let step = span.marks.get(1)?.0;
    let from = ((low - room) / step).ceil() as i64;
    let steps = (from..from + 12).map(|index| index as f64 * step).filter(|mark| *mark <= high + room);
    Some(Axis {
        name: name.to_owned(),
        low: low - room,
        high: high + room,
        marks: steps.map(|mark| (mark, format!("{mark:.2}"))).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(low: f64, ratio: f64, high: f64) -> Line {
        Line::of("<b>".to_owned(), &PairedRatio { pairs: 5, ratio, low, high }, Kind::Real)
    }

    #[test]
    fn a_wide_span_is_logarithmic_and_what_is_not_of_this_world_is_left_out() {
        let narrow = chart("t", "x", vec![Line::base("b".to_owned()), line(0.9, 1.1, 1.3)]).expect("a chart");
        assert!(narrow.contains("1.20") && !narrow.contains("<b>"), "{narrow}");
        let wide = chart("t", "x", vec![line(0.5, 0.6, 0.7), line(4.4, 5.2, 6.2)]).expect("a chart");
        assert!(wide.contains(">\n5\n<") && !wide.contains("1.20"), "{wide}");
        assert_eq!(chart("t", "x", Vec::new()), None);
        assert_eq!(chart("t", "x", vec![line(f64::NAN, 1.0, 2.0), line(0.0, 1e300, f64::INFINITY)]), None);
    }
}
