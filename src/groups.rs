//! Statistics over less than a row: groups of channels, heads, the first few channels.

use crate::spec::NormSpec;

/// What a weight (and a bias) has values for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WeightOf {
    /// Every channel of the row: `hidden` values.
    Row,
    /// Every channel of a group; all groups share them: `hidden / groups` values.
    Group,
    /// Every channel of a query head, and then every channel of a key head: `2 · hidden / groups` values. The first so many
    /// groups are query heads, the others key heads.
    QueryAndKey(u64),
}

impl NormSpec {
    /// The same with statistics per group of channels; the weight has a value for every channel of the row.
    ///
    /// ```
    /// use wgpu_rmsnorm::{Inputs, NormSpec, reference};
    ///
    /// let spec = NormSpec::torch(4, 0.0).without_weight().groups(2);
    /// assert_eq!(reference::norm(&spec, &Inputs::new(&[2.0f32, 2.0, 5.0, 5.0]))?, [1.0, 1.0, 1.0, 1.0]);
    /// # Ok::<(), wgpu_rmsnorm::Error>(())
    /// ```
    #[inline(never)]
    pub const fn groups(mut self, groups: u64) -> Self {
        (self.groups, self.weight_of) = (groups, WeightOf::Row);
        self
    }

    /// The same for rows of `heads` heads, which share one weight of `hidden / heads` values. With
    /// [`NormSpec::groups`] instead each head has a weight of its own.
    ///
    /// A range of heads of a fused projection is a view: the operand's offset says where the first head begins, its row stride
    /// how many elements a token has in all.
    ///
    /// ```
    /// use wgpu_rmsnorm::{NormSpec, Slot};
    ///
    /// let spec = NormSpec::llama(32 * 128, 1e-6).heads(32);
    /// assert_eq!((spec.group_length(), spec.length_of(Slot::Weight)), (128, 128));
    /// ```
    #[inline(never)]
    pub const fn heads(mut self, heads: u64) -> Self {
        (self.groups, self.weight_of) = (heads, WeightOf::Group);
        self
    }

    /// The same for rows of `query` heads and then `key` heads: both normalised in one dispatch. The weight is the one that the
    /// query heads share, followed by the one that the key heads share.
    ///
    /// ```
    /// use wgpu_rmsnorm::{DType, NormSpec, Slot};
    ///
    /// // Qwen3 8B: 32 query heads and 8 key heads of 128, side by side in the fused projection.
    /// let spec = NormSpec::llama(40 * 128, 1e-6).dtype(DType::BF16).query_and_key_heads(32, 8);
    /// assert_eq!(spec.length_of(Slot::Weight), 2 * 128);
    /// ```
    #[inline(never)]
    pub const fn query_and_key_heads(mut self, query: u64, key: u64) -> Self {
        (self.groups, self.weight_of) = (query.saturating_add(key), WeightOf::QueryAndKey(query));
        self
    }

    /// The same with the mean of squares over the first `channels` channels only (of each group): pRMSNorm of Zhang and Sennrich,
    /// 2019. All channels are scaled by it.
    #[inline(never)]
    pub const fn partial(mut self, channels: u64) -> Self {
        self.statistics_length = Some(channels);
        self
    }

    /// Channels of a group: of the row, where it has no groups.
    pub const fn group_length(&self) -> u64 {
        match self.groups {
            0 => self.hidden,
            groups => self.hidden / groups,
        }
    }

    /// Channels that a statistic is made of.
    pub const fn statistics_length(&self) -> u64 {
        match self.statistics_length {
            Some(length) => length,
            None => self.group_length(),
        }
    }

    /// Values of the weight, and of the bias.
    pub const fn weight_length(&self) -> u64 {
        match self.weight_of {
            WeightOf::Row => self.hidden,
            WeightOf::Group => self.group_length(),
            WeightOf::QueryAndKey(_) => self.group_length().saturating_mul(2),
        }
    }

    /// Where the weight of channel `channel` of the row stands.
    pub(crate) fn weight_index(&self, channel: usize) -> usize {
        let length = self.group_length() as usize;
        match self.weight_of {
            WeightOf::Row => channel,
            WeightOf::Group => channel % length,
            WeightOf::QueryAndKey(query) if channel / length < query as usize => channel % length,
            WeightOf::QueryAndKey(_) => length + channel % length,
        }
    }
}
