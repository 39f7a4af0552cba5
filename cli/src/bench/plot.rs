//! The share of the copy over the length of rows, as an SVG file.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

use crate::failure::Failure;
use crate::whole_file::{WholeFile, is_same};

const SIZE: (u32, u32) = (960, 540);
/// Told apart by those who see no red or green, and in grey (after Okabe and Ito).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0x00, 0x4c, 0x99),
    RGBColor(0xe6, 0x8a, 0x00),
    RGBColor(0x00, 0x7a, 0x5a),
    RGBColor(0x56, 0xa5, 0xd9),
    RGBColor(0xc0, 0x60, 0x98),
    RGBColor(0x55, 0x55, 0x55),
];
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);

/// What becomes a line of its own: its name, and shares with the length of the rows that have them.
pub type Series = (String, Vec<(u64, f64)>);

/// A plot on its way.
pub struct Plot {
    file: WholeFile,
}

impl Plot {
    /// Gets ready to draw: a file that cannot be written is better known before the work than after it.
    pub fn create(file: &Path, force: bool, earlier: Option<&Path>) -> Result<Self, Failure> {
        if file.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("svg")) {
            let problem = format!("--plot: expected the name of an .svg file, got {}", file.display());
            return Err(Failure::new(problem, "SVG is the one format; call it shares.svg, for example"));
        }
        if earlier.is_some_and(|earlier| is_same(earlier, file)) {
            let problem = format!("--plot: {} is read by --compare", file.display());
            return Err(Failure::new(problem, "choose another file for the plot"));
        }
        Ok(Self { file: WholeFile::create(file, force)? })
    }

    /// Draws, and gives the file its name.
    pub fn write(mut self, title: &str, series: &[Series]) -> Result<(), Failure> {
        let svg = draw(title, series).map_err(|error| Failure::new(format_args!("--plot: {error}"), "report this"))?;
        self.file.write(svg.as_bytes())?;
        self.file.commit()
    }
}

fn draw(title: &str, series: &[Series]) -> Result<String, Box<dyn Error>> {
    let points = || series.iter().flat_map(|(_, points)| points);
    let place = |hidden: u64| (hidden as f64).log2();
    let first = points().map(|&(hidden, _)| place(hidden)).fold(f64::INFINITY, f64::min).floor();
    let last = points().map(|&(hidden, _)| place(hidden)).fold(f64::NEG_INFINITY, f64::max).ceil().max(first + 1.0);
    let highest = points().map(|&(_, share)| share).fold(1.0, f64::max);
    let mut svg = String::new();
    {
        // White, for the text is black: the page around it may be dark.
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(title, ("sans-serif", 18))
            .margin(16)
            .x_label_area_size(48)
            .y_label_area_size(60)
            .build_cartesian_2d(first - 0.2..last + 0.2, 0.0..highest * 1.05)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .x_labels((last - first) as usize + 2)
            .x_desc("channels of a row")
            .y_desc("speed over that of the fastest copy")
            .x_label_formatter(&|power| format!("{:.0}", power.exp2()))
            .y_label_formatter(&|share| format!("{share:.1}"))
            .label_style(("sans-serif", 15))
            .draw()?;
        for ((name, points), colour) in series.iter().zip(COLOURS.into_iter().cycle()) {
            let style = colour.stroke_width(2);
            chart
                .draw_series(LineSeries::new(means(points).into_iter().map(|(hidden, share)| (place(hidden), share)), style))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
            chart.draw_series(points.iter().map(|&(hidden, share)| Circle::new((place(hidden), share), 3, colour.filled())))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE)
            .border_style(GRID)
            .label_font(("sans-serif", 15))
            .draw()?;
        area.present()?;
    }
    Ok(svg)
}

/// The geometric mean of the shares at each length, from the shortest to the longest: sets have several numbers of rows.
fn means(points: &[(u64, f64)]) -> Vec<(u64, f64)> {
    let mut logarithms: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for &(hidden, share) in points {
        logarithms.entry(hidden).or_default().push(share.ln());
    }
    let mean = |all: Vec<f64>| (all.iter().sum::<f64>() / all.len() as f64).exp();
    logarithms.into_iter().map(|(hidden, all)| (hidden, mean(all))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_name_and_each_measurement_a_dot() {
        let points = vec![(4096, 0.5), (64, 0.25), (4096, 2.0)];
        assert_eq!(
            means(&points).iter().map(|&(hidden, share)| (hidden, share as f32)).collect::<Vec<_>>(),
            [(64, 0.25), (4096, 1.0)]
        );
        let svg = draw("a device <of tests>", &[("norm f32".into(), points), ("norm f16".into(), vec![(65, 0.1)])]).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("norm f32") && svg.contains("norm f16") && svg.contains("&lt;of tests"));
        assert_eq!(svg.matches("<circle").count(), 4, "{svg}");
        assert!(svg.contains("4096") && svg.contains("#FFFFFF"), "{svg}");
    }
}
