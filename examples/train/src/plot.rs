//! The losses, drawn.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

use crate::Run;

/// One line a run. Losses beyond the frame, and those that are no number, end it.
pub fn draw(file: &Path, runs: &[Run]) -> Result<(), Box<dyn Error>> {
    const FRAME: std::ops::Range<f32> = 2.5..6.0;
    let steps = runs.iter().map(|run| run.losses.len()).max().unwrap_or(1);
    let root = SVGBackend::new(file, (900, 480)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .margin(16)
        .x_label_area_size(36)
        .y_label_area_size(44)
        .caption("Loss of a deep residual stack, by what stands before each block", ("sans-serif", 18))
        .build_cartesian_2d(1..steps.max(2), FRAME)?;
    chart
        .configure_mesh()
        .x_desc("step")
        .y_desc("loss (nats a character)")
        .light_line_style(WHITE)
        .bold_line_style(BLACK.mix(0.08))
        .draw()?;
    let colors =
        [RGBColor(0, 90, 160), RGBColor(0, 90, 160), RGBColor(200, 90, 0), RGBColor(200, 90, 0), RGBColor(110, 110, 110)];
    for (index, (run, color)) in runs.iter().zip(colors).enumerate() {
        let points = run.losses.iter().enumerate().map(|(step, loss)| (step + 1, *loss as f32));
        let points: Vec<_> =
            points.take_while(|(_, loss)| loss.is_finite()).map(|(step, loss)| (step, loss.min(FRAME.end))).collect();
        // Of two that lie over each other, the framework's is the wide, pale one.
        let style = if index % 2 == 1 { color.mix(0.35).stroke_width(6) } else { color.stroke_width(2) };
        chart
            .draw_series(LineSeries::new(points, style))?
            .label(match run.losses.iter().position(|loss| !loss.is_finite()) {
                Some(step) => format!("{}: no number from step {}", run.name, step + 1),
                None => run.name.clone(),
            })
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 24, y)], style));
    }
    let labels = &mut chart.configure_series_labels();
    labels.position(SeriesLabelPosition::UpperRight).background_style(WHITE).border_style(BLACK.mix(0.3)).draw()?;
    root.present()?;
    Ok(())
}
