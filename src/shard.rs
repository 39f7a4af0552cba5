//! Rows that are sharded over devices: each finds the statistic of its part, and later scales it by those of all.

use crate::spec::NormSpec;

/// Which half of a norm is computed on a part of each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shard {
    /// The part's statistic: the output.
    Stats,
    /// The part's result, by the statistics of all parts.
    Apply {
        /// Channels of the whole row.
        total: u64,
        /// Parts that it has.
        shards: u64,
    },
}

impl NormSpec {
    /// The first half of a sharded norm: for every row of `hidden` channels, a part of a longer one, two f32 numbers `s` and `k`
    /// such that the sum of squares is `s · 4^k`. `k` is a whole number, 0 for all but rows whose squares leave f32's range. They
    /// are the output. Weight and bias are dropped, for they are of the second half: make that from the whole norm's spec, not from
    /// this one.
    ///
    /// ```
    /// use wgpu_rmsnorm::{Inputs, NormSpec, reference};
    ///
    /// // A row of 5 on two devices.
    /// let (left, right) = ([1.0f32, 2.0], [3.0f32, 4.0, 5.0]);
    /// let part = |channels| NormSpec::torch(channels, 1e-6).without_weight();
    /// let stats = |x: &[f32]| reference::stats(&part(x.len() as u64).stats(), &Inputs::new(x));
    /// let all: Vec<f32> = [stats(&left)?, stats(&right)?].concat().iter().map(|&v| v as f32).collect();
    /// assert_eq!(all, [5.0, 0.0, 50.0, 0.0]);
    /// let y = reference::norm(&part(2).apply(5, 2), &Inputs::new(&left).statistics(&all))?;
    /// # let _ = y;
    /// # Ok::<(), wgpu_rmsnorm::Error>(())
    /// ```
    pub const fn stats(mut self) -> Self {
        self.shard = Some(Shard::Stats);
        (self.weight, self.bias) = (None, None);
        self
    }

    /// The second half of a sharded norm, on a part of `hidden` channels of rows of `total` in `shards` parts: reads the
    /// statistics of all parts, `[rows, shards, 2]`, and joins them in this order. Parts may be of different lengths. Weight and
    /// bias are those of the part.
    pub const fn apply(mut self, total: u64, shards: u64) -> Self {
        self.shard = Some(Shard::Apply { total, shards });
        self
    }

    /// Shards whose statistics are read.
    pub(crate) const fn shards(&self) -> Option<u64> {
        match self.shard {
            Some(Shard::Apply { shards, .. }) => Some(shards),
            _ => None,
        }
    }

    /// Whether only statistics are written.
    pub(crate) fn is_stats(&self) -> bool {
        self.shard == Some(Shard::Stats)
    }

    /// Channels that the mean is over.
    pub(crate) const fn mean_length(&self) -> u64 {
        match self.shard {
            Some(Shard::Apply { total, .. }) => total,
            _ => self.statistics_length(),
        }
    }
}
