//! One SVG chart: axes with given marks, and curves, dots, bars or intervals in it; or several of them over one horizontal axis. Knows nothing of
//! runs.
//!
//! Every colour is one of [`COLOURS`] or the two inks, so that the page's style sheet can give each another in the dark. Coordinates are whole numbers,
//! so charts are drawn twice as large as they are meant to be seen.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::report::escape;

/// Okabe and Ito's colours that are told apart by everyone, without the yellow that paper swallows.
pub const COLOURS: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x66, 0x66, 0x66),
];

/// Text and axes.
pub const INK: RGBColor = RGBColor(0x24, 0x29, 0x2f);
/// Lines behind the curves.
pub const GRID: RGBColor = RGBColor(0xd8, 0xde, 0xe4);
/// Behind the legend.
pub const PAPER: RGBColor = RGBColor(0xff, 0xff, 0xfe);

/// Height of letters, before the page shrinks the chart.
const LETTERS: u32 = 30;

/// Height of a line of names.
const NAMES: u32 = 48;

/// One axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it shows, with the unit.
    pub name: String,
    /// Where it begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
    /// Where it has a mark, and what is written there.
    pub marks: Vec<(f64, String)>,
}

impl Axis {
    /// From zero to a little above the highest value, with some round marks.
    #[must_use]
    pub fn from_zero(name: impl Into<String>, highest: f64, show: impl Fn(f64) -> String) -> Self {
        let high = if highest > 0.0 { highest * 1.08 } else { 1.0 };
        let rough = high / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|of| of * power).find(|step| *step >= rough).unwrap_or(rough);
        let marks = (0..=5).map(|index| f64::from(index) * step).filter(|mark| *mark <= high);
        Self { name: name.into(), low: 0.0, high, marks: marks.map(|mark| (mark, show(mark))).collect() }
    }

    /// Logarithmic over positive values: places are decimal logarithms, marks at 1, 2 and 5 of each decade, or at 1 of many.
    #[must_use]
    pub fn logarithmic(name: impl Into<String>, lowest: f64, highest: f64, show: impl Fn(f64) -> String) -> Self {
        let (low, high) = (lowest.log10() - 0.05, highest.log10() + 0.1);
        let steps: &[f64] = if high - low > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let decades = (low.floor() as i32)..=(high.ceil() as i32);
        let marks = decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
        let marks = marks.map(|mark| (mark.log10(), show(mark))).filter(|(at, _)| (low..=high).contains(at)).collect();
        Self { name: name.into(), low, high, marks }
    }

    fn label(&self, at: f64) -> String {
        let nearest = self.marks.iter().min_by(|a, b| (a.0 - at).abs().total_cmp(&(b.0 - at).abs()));
        nearest.map_or_else(String::new, |(_, label)| escape::visible(label))
    }
}

/// Marks are where the axis says, not where the library would put them.
impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.low) / (self.high - self.low);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.iter().map(|(at, _)| *at).collect()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format(value: &f64) -> String {
        value.to_string()
    }

    fn format_ext(&self, value: &f64) -> String {
        self.label(*value)
    }
}

/// Something drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A line through points.
    Curve {
        /// As the legend calls it.
        name: String,
        /// Which of [`COLOURS`].
        colour: usize,
        /// Where.
        points: Vec<(f64, f64)>,
        /// Whether each point has a dot.
        dots: bool,
    },
    /// A bar from zero, one unit wide at most.
    Bar {
        /// Its middle.
        at: f64,
        /// How high it is.
        height: f64,
        /// Which of [`COLOURS`].
        colour: usize,
    },
    /// A horizontal interval with a dot in it.
    Interval {
        /// How high it lies.
        at: f64,
        /// Its ends.
        ends: (f64, f64),
        /// The dot.
        dot: f64,
        /// Which of [`COLOURS`].
        colour: usize,
    },
    /// A vertical line across the chart.
    Upright {
        /// Where.
        at: f64,
    },
}

/// How the chart is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Twice the width it is seen with at most.
    pub width: u32,
    /// Twice the height.
    pub height: u32,
    /// Room for what is written on the left.
    pub left: u32,
    /// Where the legend is; none without.
    pub legend: Option<Corner>,
}

/// One chart of several above each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Its vertical axis.
    pub y: Axis,
    /// What is drawn. Curves with a name are named in a line above.
    pub shapes: Vec<Shape>,
}

/// A corner of the chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Corner {
    /// Upper left.
    UpperLeft,
    /// Upper right.
    UpperRight,
    /// Lower right.
    LowerRight,
}

/// The chart as an `svg` element that `title` names for those who cannot see it. `None` when there is nothing in it, or a place is no number.
#[must_use]
pub fn svg(title: &str, layout: Layout, x: &Axis, y: &Axis, shapes: &[Shape]) -> Option<String> {
    if !can_be_drawn(x, y, shapes) {
        return None;
    }
    let mut out = String::new();
    {
        let root = SVGBackend::with_string(&mut out, (layout.width, layout.height)).into_drawing_area();
        draw(&root, layout, Some(x), (x, y), shapes).ok()?;
        root.present().ok()?;
    }
    Some(titled(&out, title))
}

/// Charts above each other over one horizontal axis, as one `svg` element; `layout` is that of each, without a legend. `None` when one of them
/// cannot be drawn.
#[must_use]
pub fn stacked(title: &str, layout: Layout, x: &Axis, panels: &[Panel]) -> Option<String> {
    if panels.is_empty() || !panels.iter().all(|panel| can_be_drawn(x, &panel.y, &panel.shapes)) {
        return None;
    }
    let last = panels.len() - 1;
    // The lowest has the horizontal axis.
    let heights: Vec<u32> =
        (0..panels.len()).map(|index| layout.height + if index == last { LETTERS * 3 } else { 0 }).collect();
    let mut out = String::new();
    {
        let root = SVGBackend::with_string(&mut out, (layout.width, heights.iter().sum())).into_drawing_area();
        let mut rest = root.clone();
        for (index, (panel, height)) in panels.iter().zip(heights).enumerate() {
            let area;
            (area, rest) = rest.split_vertically(height);
            let (names, area) = area.split_vertically(name_lines(layout, panel) * NAMES);
            name_curves(&names, layout, panel).ok()?;
            draw(&area, layout, (index == last).then_some(x), (x, &panel.y), &panel.shapes).ok()?;
        }
        root.present().ok()?;
    }
    Some(titled(&out, title))
}

fn titled(svg: &str, title: &str) -> String {
    let title = escape::html(title);
    svg.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{title}\" "), 1)
}

fn can_be_drawn(x: &Axis, y: &Axis, shapes: &[Shape]) -> bool {
    let sound =
        |axis: &Axis| axis.low.is_finite() && axis.high.is_finite() && axis.high > axis.low && !axis.marks.is_empty();
    !shapes.is_empty() && sound(x) && sound(y) && shapes.iter().all(is_finite)
}

/// Names of curves with their colour and where each is written: column in pixels, and line.
fn placed_names(layout: Layout, panel: &Panel) -> Vec<(String, usize, u32, u32)> {
    let mut placed = Vec::new();
    let (mut at, mut line) = (layout.left, 0);
    for shape in &panel.shapes {
        let Shape::Curve { name, colour, .. } = shape else { continue };
        if name.is_empty() {
            continue;
        }
        let name = escape::visible(name);
        // Letters are about half as wide as high.
        let wide = 110 + LETTERS * u32::try_from(name.chars().count()).unwrap_or(u32::MAX).min(40) * 11 / 20;
        if at + wide > layout.width && at > layout.left {
            (at, line) = (layout.left, line + 1);
        }
        placed.push((name, *colour, at, line));
        at += wide;
    }
    placed
}

/// Lines that the names of a panel's curves take.
fn name_lines(layout: Layout, panel: &Panel) -> u32 {
    placed_names(layout, panel).last().map_or(0, |(_, _, _, line)| line + 1)
}

fn name_curves(area: &Area<'_>, layout: Layout, panel: &Panel) -> Result<(), Box<dyn std::error::Error>> {
    for (name, colour, at, line) in placed_names(layout, panel) {
        let (x, y) = (at as i32 + 16, (line * NAMES + NAMES * 2 / 3) as i32);
        let colour = COLOURS[colour % COLOURS.len()];
        area.draw(&PathElement::new(vec![(x, y), (x + 60, y)], colour.stroke_width(4)))?;
        let letters = ("sans-serif", LETTERS).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(name, (x + 72, y), letters))?;
    }
    Ok(())
}

/// Where something is drawn.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn is_finite(shape: &Shape) -> bool {
    match shape {
        Shape::Curve { points, .. } => points.iter().all(|(x, y)| x.is_finite() && y.is_finite()),
        Shape::Bar { at, height, .. } => at.is_finite() && height.is_finite(),
        Shape::Interval { at, ends, dot, .. } => [*at, ends.0, ends.1, *dot].iter().all(|place| place.is_finite()),
        Shape::Upright { at } => at.is_finite(),
    }
}

/// `named` is the horizontal axis where it is to be written below.
fn draw(
    area: &Area<'_>,
    layout: Layout,
    named: Option<&Axis>,
    (x, y): (&Axis, &Axis),
    shapes: &[Shape],
) -> Result<(), Box<dyn std::error::Error>> {
    let mut chart = ChartBuilder::on(area)
        .margin_top(LETTERS)
        .margin_left(LETTERS / 2)
        .margin_right(LETTERS * 2)
        .x_label_area_size(if named.is_some() { LETTERS * 3 } else { 0 })
        .y_label_area_size(layout.left)
        .build_cartesian_2d(x.clone(), y.clone())?;
    let letters = || ("sans-serif", LETTERS).into_font().color(&INK);
    chart
        .configure_mesh()
        .x_labels(x.marks.len())
        .y_labels(y.marks.len())
        .max_light_lines(0)
        .bold_line_style(GRID.stroke_width(2))
        .axis_style(INK.stroke_width(2))
        .label_style(letters())
        .axis_desc_style(letters())
        .x_desc(named.map_or_else(String::new, |axis| escape::visible(&axis.name)))
        .y_desc(escape::visible(&y.name))
        .draw()?;
    for shape in shapes {
        match shape {
            Shape::Curve { name, colour, points, dots } => {
                let colour = COLOURS[colour % COLOURS.len()];
                let line = chart.draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(4)))?;
                if !name.is_empty() {
                    line.label(escape::visible(name))
                        .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 50, y)], colour.stroke_width(4)));
                }
                if *dots {
                    chart.draw_series(points.iter().map(|at| Circle::new(*at, 8, colour.filled())))?;
                }
            }
            Shape::Bar { at, height, colour } => {
                let bar =
                    Rectangle::new([(at - 0.3, 0.0), (at + 0.3, *height)], COLOURS[colour % COLOURS.len()].filled());
                chart.draw_series([bar])?;
                let above = ("sans-serif", LETTERS).into_font().color(&INK).pos(Pos::new(HPos::Center, VPos::Bottom));
                chart.draw_series([Text::new(format!("{height:.0} %"), (*at, height + y.high * 0.015), above)])?;
            }
            Shape::Interval { at, ends, dot, colour } => {
                let colour = COLOURS[colour % COLOURS.len()];
                chart.draw_series([PathElement::new(vec![(ends.0, *at), (ends.1, *at)], colour.stroke_width(6))])?;
                chart.draw_series([Circle::new((*dot, *at), 10, colour.filled())])?;
            }
            Shape::Upright { at } => {
                chart.draw_series([PathElement::new(vec![(*at, y.low), (*at, y.high)], INK.stroke_width(2))])?;
            }
        }
    }
    if let Some(corner) = layout.legend {
        let position = match corner {
            Corner::UpperLeft => SeriesLabelPosition::UpperLeft,
            Corner::UpperRight => SeriesLabelPosition::UpperRight,
            Corner::LowerRight => SeriesLabelPosition::LowerRight,
        };
        chart
            .configure_series_labels()
            .position(position)
            .legend_area_size(70)
            .margin(20)
            .background_style(PAPER.mix(0.9))
            .label_font(letters())
            .draw()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout { width: 400, height: 200, left: 80, legend: Some(Corner::UpperLeft) };

    fn curve(points: Vec<(f64, f64)>) -> Shape {
        Shape::Curve { name: "<script>\u{1b}".to_owned(), colour: 99, points, dots: true }
    }

    #[test]
    fn marks_are_round() {
        let labels = |axis: &Axis| axis.marks.iter().map(|(_, label)| label.clone()).collect::<Vec<_>>().join(" ");
        assert_eq!(labels(&Axis::from_zero("", 298.0, |mark| mark.to_string())), "0 100 200 300");
        assert_eq!(labels(&Axis::from_zero("", 0.0, |mark| format!("{mark:.1}"))), "0.0 0.2 0.4 0.6 0.8 1.0");
        let show = |mark: f64| format!("{mark:.0}");
        assert_eq!(labels(&Axis::logarithmic("", 80.0, 1200.0, show)), "100 200 500 1000");
        assert_eq!(labels(&Axis::logarithmic("", 1.0, 1e6, show)), "1 10 100 1000 10000 100000 1000000");
    }

    #[test]
    fn text_is_escaped() {
        let axis = Axis::from_zero("<b>", 5.0, |_| "\"&".to_owned());
        let svg = svg("a\"><i>", LAYOUT, &axis, &axis, &[curve(vec![(1.0, 2.0), (3.0, 4.0)])]).expect("a chart");
        for raw in ["<script", "<b>", "<i>", "\u{1b}"] {
            assert!(!svg.contains(raw), "{svg}");
        }
        assert!(svg.contains("aria-label=\"a&quot;&gt;&lt;i&gt;\"") && svg.contains("&lt;script"), "{svg}");
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out() {
        let axis = Axis::from_zero("", 5.0, |mark| mark.to_string());
        assert_eq!(svg("", LAYOUT, &axis, &axis, &[]), None);
        assert_eq!(svg("", LAYOUT, &axis, &axis, &[curve(vec![(f64::NAN, 1.0)])]), None);
        let endless = Axis::from_zero("", f64::INFINITY, |mark| mark.to_string());
        assert_eq!(svg("", LAYOUT, &axis, &endless, &[curve(vec![(1.0, 1.0)])]), None);
        assert!(svg("", LAYOUT, &axis, &axis, &[curve(Vec::new())]).is_some(), "an empty chart is a chart");
    }
}
