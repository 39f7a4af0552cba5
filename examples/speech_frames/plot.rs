//! Loudness over time, as an SVG file.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

const SIZE: (u32, u32) = (900, 420);
/// Where the axis ends: silence has no decibels, and is drawn there.
const LOWEST_DBFS: f64 = -80.0;
/// Told apart by those who see no red or green, and in grey.
const BEFORE: RGBColor = RGBColor(0xe6, 0x8a, 0x00);
const AFTER: RGBColor = RGBColor(0x00, 0x4c, 0x99);

/// Draws the loudness of frames, in dBFS, before and after; `step` is a frame's length in seconds.
pub fn loudness(path: &Path, step: f64, before: &[f64], after: &[f64]) -> Result<(), Box<dyn Error>> {
    // White, for the text is black: the page around it may be dark.
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption("Loudness of 20 ms frames before and after RMS normalisation", ("sans-serif", 22))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..step * before.len() as f64, LOWEST_DBFS..0.0)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("time, s")
        .y_desc(format!("RMS, dBFS (silence at {LOWEST_DBFS})"))
        .x_label_formatter(&|time| format!("{time:.1}"))
        .y_label_formatter(&|level| format!("{level:.0}"))
        .label_style(("sans-serif", 18))
        .draw()?;
    for (name, levels, colour) in [("before", before, BEFORE), ("after", after, AFTER)] {
        let style = colour.stroke_width(2);
        chart
            .draw_series(LineSeries::new(steps(levels, step), style))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE)
        .border_style(BLACK)
        .label_font(("sans-serif", 18))
        .draw()?;
    area.present()?;
    Ok(())
}

/// A frame has one loudness from its first sample to its last.
fn steps(levels: &[f64], step: f64) -> impl Iterator<Item = (f64, f64)> {
    levels.iter().enumerate().flat_map(move |(index, level)| {
        let level = level.clamp(LOWEST_DBFS, 0.0);
        [(index as f64 * step, level), ((index + 1) as f64 * step, level)]
    })
}
