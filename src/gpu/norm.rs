//! A norm on a device.

use super::device::Gpu;
use super::operands::Operands;
use super::prepared::Prepared;
use super::transfer;
use crate::dtype::Element;
use crate::error::{Detail, Error, Result};
use crate::inputs::Inputs;
use crate::outputs::Outputs;
use crate::plan::{Force, Layout, Plan};
use crate::spec::NormSpec;
use crate::values::Values;

/// A [`NormSpec`] on a [`Gpu`].
///
/// It holds nothing but the two: no memory of the device, no buffer, no kernel. [`Norm::run`] takes buffers for its operands and
/// its results, and gives them back before it returns.
#[derive(Debug, Clone)]
pub struct Norm {
    gpu: Gpu,
    spec: NormSpec,
}

impl Norm {
    pub(super) fn new(gpu: Gpu, spec: NormSpec) -> Result<Self> {
        spec.validate()?;
        Ok(Self { gpu, spec })
    }

    /// What is computed.
    pub fn spec(&self) -> &NormSpec {
        &self.spec
    }

    /// The device it is computed on.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The plan for a layout, without a buffer: to look at, or to run elsewhere. By the [`Gpu`]'s tuning record, where it has one.
    ///
    /// # Errors
    /// Those of [`Plan::new`].
    pub fn plan(&self, layout: &Layout, rows: u64) -> Result<Plan> {
        self.plan_with(layout, rows, Force::default())
    }

    /// [`Norm::plan`] with some of the plan's choices forced.
    ///
    /// # Errors
    /// Those of [`Plan::with`].
    pub fn plan_with(&self, layout: &Layout, rows: u64, force: Force) -> Result<Plan> {
        self.gpu.plan(&self.spec, layout, rows, force)
    }

    /// Binds the norm to buffers, for up to `rows` rows. Everything is checked here, and the kernel compiled on first use.
    ///
    /// ```no_run
    /// # async fn step(gpu: wgpu_rmsnorm::Gpu, hidden: &wgpu::Buffer, weight: &wgpu::Buffer) -> wgpu_rmsnorm::Result<()> {
    /// use wgpu_rmsnorm::{DType, NormSpec, Operands};
    ///
    /// let norm = gpu.norm(NormSpec::llama(4096, 1e-5).dtype(DType::F16))?;
    /// let prepared = norm.prepare(&Operands::in_place(hidden).weight(weight), 512).await?;
    /// // Every token from now on:
    /// let mut encoder = gpu.device().create_command_encoder(&Default::default());
    /// prepared.record_in(&mut encoder, 1)?;
    /// gpu.queue().submit([encoder.finish()]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`Plan::new`], [`Error::Buffer`] for a buffer of the wrong size or usage, and wgpu's own
    /// where it refuses a buffer (of another device, say).
    pub async fn prepare(&self, operands: &Operands<'_>, rows: u64) -> Result<Prepared> {
        self.prepare_with(operands, rows, Force::default()).await
    }

    /// [`Norm::prepare`] with some of the plan's choices forced.
    ///
    /// # Errors
    /// Those of [`Norm::prepare`], and [`Error::Plan`] where a forced choice does not apply.
    pub async fn prepare_with(&self, operands: &Operands<'_>, rows: u64, force: Force) -> Result<Prepared> {
        let layout = operands.layout(&self.spec)?;
        let plan = self.gpu.plan(&self.spec, &layout, rows, force)?;
        Prepared::new(&self.gpu, plan, operands).await
    }

    /// [`Norm::prepare`], waiting on this thread (for nothing but the compiler, on native).
    ///
    /// # Errors
    /// Those of [`Norm::prepare`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn prepare_blocking(&self, operands: &Operands<'_>, rows: u64) -> Result<Prepared> {
        pollster::block_on(self.prepare(operands, rows))
    }

    /// Uploads, computes and reads back. Tensors beyond the device's buffer limit go in batches of rows. On native this polls
    /// the device and waits within the call; in a browser the page's event loop does.
    ///
    /// # Errors
    /// Those of [`Inputs::validate`]; [`Error::DType`] where the norm does not write `T`; those of
    /// [`Norm::prepare`]; out of memory, device loss and time-outs.
    pub async fn run<T: Element>(&self, inputs: &Inputs<'_>) -> Result<Vec<T>> {
        let output = self.spec.output_dtype();
        if output != T::DTYPE {
            let weight = self.spec.weight.map_or("no weight".to_owned(), |w| format!("{w} weights"));
            let (actual, remedy) = match output.is_code() {
                true => (format!("codes in {output}"), format!("collect into {output}; Norm::run_all has scales too")),
                false => (
                    format!("{output}, by this spec's rule for {} input and {weight}", self.spec.input),
                    format!("collect into {output}, or set the dtype with NormSpec::output"),
                ),
            };
            let expected = format!("a norm that writes {}, as it is collected", T::DTYPE);
            return Err(Error::DType(Detail::new("output", expected, actual, remedy)));
        }
        self.run_values(inputs).await?.into_vec()
    }

    /// [`Norm::run`], waiting on this thread.
    ///
    /// # Errors
    /// Those of [`Norm::run`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run_blocking<T: Element>(&self, inputs: &Inputs<'_>) -> Result<Vec<T>> {
        pollster::block_on(self.run(inputs))
    }

    /// [`Norm::run`] for a dtype that is known at run time only.
    ///
    /// # Errors
    /// Those of [`Norm::run`].
    pub async fn run_values(&self, inputs: &Inputs<'_>) -> Result<Values> {
        self.run_with(inputs, Force::default()).await.map(Outputs::into_output)
    }

    /// [`Norm::run_values`], with everything that the norm writes: the sum with the residual, the scale of each row, where it has
    /// them.
    ///
    /// # Errors
    /// Those of [`Norm::run`].
    pub async fn run_all(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        self.run_with(inputs, Force::default()).await
    }

    /// [`Norm::run_all`], waiting on this thread.
    ///
    /// # Errors
    /// Those of [`Norm::run`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run_all_blocking(&self, inputs: &Inputs<'_>) -> Result<Outputs> {
        pollster::block_on(self.run_all(inputs))
    }

    /// [`Norm::run_all`] with some of the plan's choices forced.
    ///
    /// # Errors
    /// Those of [`Norm::run`] and [`Norm::prepare_with`].
    pub async fn run_with(&self, inputs: &Inputs<'_>, force: Force) -> Result<Outputs> {
        transfer::run(self, inputs, force).await
    }
}
