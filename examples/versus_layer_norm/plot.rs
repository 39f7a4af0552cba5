//! Both norms side by side, as an SVG file.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::measure::Measured;

type Panel<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const SIZE: (u32, u32) = (1100, 480);
/// Told apart by those who see no red or green, and in grey.
const RMS: RGBColor = RGBColor(0xe6, 0x8a, 0x00);
const LAYER: RGBColor = RGBColor(0x00, 0x4c, 0x99);
const ROWS: [RGBColor; 3] = [RGBColor(0x00, 0x4c, 0x99), RGBColor(0x80, 0x80, 0x80), RGBColor(0xe6, 0x8a, 0x00)];
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);
/// Of a row's channels every so many is drawn.
const STEP: usize = 2;

/// Draws values against each other on the left, and the means of all rows on the right, both before the weight.
pub fn draw(path: &Path, all: &[Measured]) -> Result<(), Box<dyn Error>> {
    // White, for the text is black: the page around it may be dark.
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let (left, right) = area.split_horizontally(470);
    // The norm with the most lopsided row of all.
    let largest = |m: &&Measured| m.sides[0].plain_means.iter().fold(0.0, |most: f64, mean| most.max(mean.abs()));
    let shown = all.iter().max_by(|a, b| largest(a).total_cmp(&largest(b))).ok_or("nothing to draw")?;
    draw_values(&left, shown)?;
    draw_means(&right, all)?;
    area.present()?;
    Ok(())
}

/// Values of three rows after LayerNorm over those after RMSNorm: the rows of the lowest, the smallest and the highest mean.
fn draw_values(area: &Panel<'_>, shown: &Measured) -> Result<(), Box<dyn Error>> {
    let [rms, layer] = &shown.sides;
    let means = &rms.plain_means;
    let least = |of: fn(f64) -> f64| (0..means.len()).min_by(|&a, &b| of(means[a]).total_cmp(&of(means[b])));
    let rows = [least(|mean| mean), least(f64::abs), least(|mean| -mean)];

    let hidden = shown.shape[1];
    let edge = rows.iter().flatten().flat_map(|row| &rms.plain[row * hidden..(row + 1) * hidden]);
    let edge = f64::from(edge.fold(0.0, |most: f32, y| most.max(y.abs()))).ceil();
    let mut chart = ChartBuilder::on(area)
        .caption("Three rows, channel by channel", ("sans-serif", 20))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(54)
        .build_cartesian_2d(-edge..edge, -edge..edge)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .x_desc("after RMSNorm, before the weight")
        .y_desc("after LayerNorm, before the weight")
        .x_label_formatter(&|value| format!("{value:.0}"))
        .y_label_formatter(&|value| format!("{value:.0}"))
        .label_style(("sans-serif", 16))
        .draw()?;
    let same = BLACK.stroke_width(1);
    chart
        .draw_series(LineSeries::new([(-edge, -edge), (edge, edge)], same))?
        .label("no difference")
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], same));
    for (row, colour) in rows.into_iter().zip(ROWS) {
        let row = row.ok_or("no rows")?;
        let of = |values: &[f32]| values[row * hidden..(row + 1) * hidden].iter().step_by(STEP).map(|&y| f64::from(y)).collect();
        let (x, y): (Vec<f64>, Vec<f64>) = (of(&rms.plain), of(&layer.plain));
        chart
            .draw_series(x.into_iter().zip(y).map(|point| Circle::new(point, 2, colour.filled())))?
            .label(format!("row of mean {:+.2}", (means[row] * 100.0).round() / 100.0 + 0.0))
            .legend(move |(x, y)| Circle::new((x + 8, y), 4, colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE)
        .border_style(BLACK)
        .label_font(("sans-serif", 16))
        .draw()?;
    Ok(())
}

/// The means of the rows of all norms, in the order in which the model runs them.
fn draw_means(area: &Panel<'_>, all: &[Measured]) -> Result<(), Box<dyn Error>> {
    let means = |side: usize| all.iter().flat_map(move |m| m.sides[side].plain_means.iter().copied());
    // Whole steps of the axis, and room for the legend.
    let low = means(0).fold(0.0, f64::min);
    let high = means(0).fold(0.0, f64::max);
    let (low, high) = ((low * 20.0).floor() / 20.0, (high * 20.0).ceil() / 20.0 + 0.05);
    // A norm is one unit wide, and its rows lie side by side within.
    let place = |side: usize| {
        all.iter().enumerate().flat_map(move |(norm, m)| {
            let means = &m.sides[side].plain_means;
            let at = move |(row, &mean): (usize, &f64)| (norm as f64 + (row as f64 + 0.5) / means.len() as f64, mean);
            means.iter().enumerate().map(at)
        })
    };
    let mut chart = ChartBuilder::on(area)
        .caption("What LayerNorm takes away: the means of rows", ("sans-serif", 20))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..all.len() as f64, low..high)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .x_labels(all.len() + 1)
        .x_desc("norms of the model in order, 39 tokens each")
        .y_desc("mean of a row whose RMS is 1")
        .x_label_formatter(&|norm| format!("{norm:.0}"))
        .y_label_formatter(&|mean| format!("{mean:.2}"))
        .label_style(("sans-serif", 16))
        .draw()?;
    chart
        .draw_series(place(0).map(|point| Circle::new(point, 2, RMS.filled())))?
        .label("after RMSNorm")
        .legend(|(x, y)| Circle::new((x + 8, y), 4, RMS.filled()));
    chart
        .draw_series(LineSeries::new(place(1), LAYER.stroke_width(2)))?
        .label("after LayerNorm")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 16, y)], LAYER.stroke_width(2)));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE)
        .border_style(BLACK)
        .label_font(("sans-serif", 16))
        .draw()?;
    Ok(())
}
