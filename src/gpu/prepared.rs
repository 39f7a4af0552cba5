//! A norm bound to buffers, to be recorded as often as wanted.

use std::sync::Arc;

use super::call::checked;
use super::device::Gpu;
use super::operands::Operands;
use super::pipeline::{DIGIT_BYTES, Pipeline};
use super::transfer::filled_buffer;
use crate::error::{Detail, Error, Result};
use crate::plan::{Binding, Chunk, Params, Plan};
use crate::shader::Bound;

/// A norm bound to buffers up to a number of rows. Recording it allocates nothing, submits nothing, polls nothing, and cannot
/// make the encoder's `finish` fail.
///
/// Of the device's memory it holds [`Plan::held_bytes`]: a uniform of a few hundred bytes for each chunk of rows, of which there is
/// one unless an operand is larger than a binding may be; and where rows are split, the sums of their pieces; in a backward pass, the
/// sums of its blocks. On the host it holds a bind group a chunk, and with it the caller's buffers, which live as long as this does. The
/// kernel is the [`Gpu`]'s, shared by all norms that have the same text.
#[derive(Debug)]
pub struct Prepared {
    gpu: Gpu,
    plan: Plan,
    /// What is dispatched one after the other: two kernels where rows are split, none where there are none.
    pipelines: Vec<Arc<Pipeline>>,
    /// One a chunk.
    bind_groups: Vec<wgpu::BindGroup>,
    /// What adds up the blocks of a backward pass, after all chunks.
    last: Option<(Arc<Pipeline>, wgpu::BindGroup)>,
}

impl Prepared {
    pub(super) async fn new(gpu: &Gpu, plan: Plan, operands: &Operands<'_>) -> Result<Self> {
        // Case K8: zero rows need neither a buffer nor a bind group. Their sums are zero (case F3), and written.
        if plan.params().next().is_none() {
            return Ok(Self { gpu: gpu.clone(), plan, pipelines: Vec::new(), bind_groups: Vec::new(), last: None });
        }
        let mut pipelines = Vec::new();
        for shader in plan.first_shader().into_iter().chain([plan.shader()]).filter(|_| !plan.chunks.is_empty()) {
            pipelines.push(gpu.pipeline(&plan.bindings, shader).await?);
        }
        let last = match (plan.last_dispatch(), plan.last_shader()) {
            (Some(channels), Some(shader)) => Some(gpu.pipeline(&channels.bindings, shader).await?),
            _ => None,
        };
        let step = plan.params_step();
        let mut contents = Vec::new();
        for params in plan.params() {
            contents.extend_from_slice(bytemuck::bytes_of(params));
            contents.resize(contents.len().next_multiple_of(step as usize), 0);
        }
        let params = filled_buffer(gpu.device(), "wgpu-rmsnorm params", wgpu::BufferUsages::UNIFORM, &contents).await?;
        let scratch = scratch(gpu, &plan).await?;
        let buffers = operands.buffers();
        let own = Own { gpu, plan: &plan, params: &params, step, scratch: scratch.as_ref(), buffers: &buffers };
        let bound = checked(gpu.device(), "create_bind_group", || {
            let of_chunk = |(index, chunk)| own.bind_group(&pipelines[0], &plan.bindings, chunk, index);
            let of_chunks: Vec<_> = plan.chunks.iter().enumerate().map(of_chunk).collect();
            let of_last = last.zip(plan.last_dispatch()).map(|(pipeline, channels)| {
                let bind_group = own.bind_group(&pipeline, &channels.bindings, &channels.chunk, plan.chunks.len());
                (pipeline, bind_group)
            });
            (of_chunks, of_last)
        });
        let (bind_groups, last) = bound.await.map_err(|error| match error {
            // Sizes, usages and alignments were checked: what is left is where the buffers come from.
            Error::Wgpu { message, .. } => Error::Buffer(Detail::new(
                "operands",
                "live buffers of the norm's own device",
                message,
                "create them on the device that the Gpu wraps, and destroy them after the norm",
            )),
            other => other,
        })?;
        Ok(Self { gpu: gpu.clone(), plan, pipelines, bind_groups, last })
    }

    /// What was chosen, and why.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Records the norm of the first `rows` rows into the caller's open pass. Leaves the pass with this library's pipeline and
    /// bind group 0, and its immediates undefined. May be called several times in one pass with different numbers of rows.
    ///
    /// # Errors
    /// [`Error::Shape`] for more rows than were prepared; then nothing was recorded.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>, rows: u64) -> Result<()> {
        if rows > self.plan.rows {
            return Err(Error::Shape(Detail::new(
                "rows",
                format!("at most the {} that were prepared", self.plan.rows),
                rows.to_string(),
                "prepare for as many rows as will ever come",
            )));
        }
        for (chunk, bind_group) in self.plan.chunks.iter().zip(&self.bind_groups) {
            // Case K9: a dispatch of nothing has crashed machines.
            let Some(left) = rows.checked_sub(chunk.first_row).filter(|&left| left > 0) else { break };
            let covered = left.min(chunk.rows);
            let grid = self.plan.grid(chunk, covered);
            for pipeline in &self.pipelines {
                self.dispatch(pass, pipeline, bind_group, covered, grid);
            }
        }
        // Without rows too: the gradients of weight and bias are zero then, and not what was there (case F3).
        if let (Some((pipeline, bind_group)), Some(channels)) = (&self.last, self.plan.last_dispatch()) {
            self.dispatch(pass, pipeline, bind_group, rows, channels.grid);
        }
        Ok(())
    }

    fn dispatch(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        pipeline: &Pipeline,
        bind_group: &wgpu::BindGroup,
        rows: u64,
        [x, y]: [u32; 2],
    ) {
        let offsets = Plan::digits_of(self.plan.inner_rows(rows)).map(|digit| digit * self.gpu.uniform_step() as u32);
        pass.set_pipeline(&pipeline.pipeline);
        pass.set_bind_group(0, bind_group, &offsets);
        pass.dispatch_workgroups(x, y, 1);
    }

    /// Records the norm of the first `rows` rows into a compute pass of its own. The caller submits.
    ///
    /// # Errors
    /// Those of [`Prepared::record`].
    pub fn record_in(&self, encoder: &mut wgpu::CommandEncoder, rows: u64) -> Result<()> {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        self.record(&mut pass, rows)
    }
}

/// What bind groups are made of.
struct Own<'a> {
    gpu: &'a Gpu,
    plan: &'a Plan,
    params: &'a wgpu::Buffer,
    /// Bytes from one chunk's params to the next.
    step: u64,
    scratch: Option<&'a wgpu::Buffer>,
    buffers: &'a [&'a wgpu::Buffer],
}

impl Own<'_> {
    /// The bindings of a chunk, whose uniform is the `number`th. The two kernels of a split norm have the same.
    fn bind_group(&self, pipeline: &Pipeline, bindings: &[Binding], chunk: &Chunk, number: usize) -> wgpu::BindGroup {
        let bind = |at: usize, buffer, offset, size| wgpu::BindGroupEntry {
            binding: at as u32,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size: wgpu::BufferSize::new(size) }),
        };
        let entry = |(at, bound): (usize, &Bound)| match *bound {
            Bound::Params => bind(at, self.params, number as u64 * self.step, size_of::<Params>() as u64),
            Bound::Scratch => bind(at, self.scratch.unwrap_or(self.params), 0, self.plan.scratch_bytes()),
            Bound::RowDigit(_) => bind(at, self.gpu.digits(), 0, DIGIT_BYTES),
            Bound::Storage(index) => {
                let (offset, size) = chunk.ranges[index];
                bind(at, self.buffers[bindings[index].buffer as usize], offset, size)
            }
        };
        let entries: Vec<_> = pipeline.bindings.iter().enumerate().map(entry).collect();
        self.gpu.device().create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("wgpu-rmsnorm"),
            layout: &pipeline.layout,
            entries: &entries,
        })
    }
}

/// The buffer in which the pieces of rows leave their sums.
async fn scratch(gpu: &Gpu, plan: &Plan) -> Result<Option<wgpu::Buffer>> {
    if plan.scratch_bytes() == 0 {
        return Ok(None);
    }
    let descriptor = wgpu::BufferDescriptor {
        label: Some("wgpu-rmsnorm scratch"),
        size: plan.scratch_bytes(),
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    };
    checked(gpu.device(), "create_buffer", || gpu.device().create_buffer(&descriptor)).await.map(Some)
}
