//! Statistics of less than a row.

use clap::Args;
use wgpu_rmsnorm::NormSpec;

/// What a statistic, and a weight, is of.
#[derive(Debug, Args)]
#[command(next_help_heading = "The norm")]
pub struct Parts {
    /// Groups of channels, each with a statistic of its own; the weight has a value for every channel of the row
    #[arg(long, value_name = "N", conflicts_with_all = ["heads", "query_heads", "key_heads"])]
    groups: Option<u64>,
    /// Heads, each with a statistic of its own, that share a weight of one head's channels
    #[arg(long, value_name = "N", conflicts_with_all = ["query_heads", "key_heads"])]
    heads: Option<u64>,
    /// Query heads at the start of a row, and behind them the --key-heads; the weight is that of a query head, then that of a key
    /// head
    #[arg(long, value_name = "N", requires = "key_heads")]
    query_heads: Option<u64>,
    /// See --query-heads
    #[arg(long, value_name = "N", requires = "query_heads")]
    key_heads: Option<u64>,
    /// Channels (of each group, the first) that the statistic is made of [default: all]
    #[arg(long, value_name = "CHANNELS")]
    statistics_length: Option<u64>,
}

impl Parts {
    /// The spec with them.
    pub fn complete(&self, mut spec: NormSpec) -> NormSpec {
        spec = match (self.groups, self.heads, self.query_heads.zip(self.key_heads)) {
            (Some(groups), ..) => spec.groups(groups),
            (_, Some(heads), _) => spec.heads(heads),
            (.., Some((query, key))) => spec.query_and_key_heads(query, key),
            _ => spec,
        };
        self.statistics_length.map_or(spec, |channels| spec.partial(channels))
    }
}
