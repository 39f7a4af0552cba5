//! What moved since an earlier report.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::report::Line;
use crate::failure::Failure;

/// The shares of an earlier report, by operation, dtype and shape.
pub struct Earlier(HashMap<[String; 3], f64>);

impl Earlier {
    /// Reads what `bench --json=FILE` wrote.
    pub fn read(file: &Path) -> Result<Self, Failure> {
        let remedy = "pass a file that bench --json=FILE wrote";
        let text =
            fs::read_to_string(file).map_err(|error| Failure::file(file, format_args!("cannot be read: {error}"), remedy))?;
        let lines: Vec<Value> = serde_json::Deserializer::from_str(&text)
            .into_iter()
            .collect::<Result<_, _>>()
            .map_err(|error| Failure::file(file, format_args!("is no such report: {error}"), remedy))?;
        let shares = lines.iter().map(|line| {
            let text = |field: &str| line[field].as_str().map(ToOwned::to_owned);
            let shape = format!("{}x{}", line["rows"].as_u64()?, line["hidden"].as_u64()?);
            Some(([text("op")?, text("dtype")?, shape], line["share_of_copy"].as_f64()?))
        });
        let shares: Option<HashMap<_, _>> = shares.collect();
        shares.map(Self).ok_or_else(|| Failure::file(file, "is no such report: a line lacks a field", remedy))
    }

    /// What a line's share was.
    pub fn share(&self, line: &Line) -> Option<f64> {
        self.0.get(&line.key()).copied()
    }
}
