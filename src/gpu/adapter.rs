//! Finding adapters.

use std::cmp::Reverse;
use std::fmt;
#[cfg(not(target_arch = "wasm32"))]
use std::sync::OnceLock;

use crate::error::{Error, Result};

/// Backends in the order in which they are listed. OpenGL is left out unless it is asked for.
const BACKENDS: wgpu::Backends =
    wgpu::Backends::VULKAN.union(wgpu::Backends::METAL).union(wgpu::Backends::DX12).union(wgpu::Backends::BROWSER_WEBGPU);

/// A GPU, or a software driver that stands in for one, as wgpu found it.
#[derive(Debug, Clone)]
pub struct Adapter {
    pub(crate) adapter: wgpu::Adapter,
    info: wgpu::AdapterInfo,
}

impl Adapter {
    /// What wgpu knows of it: name, driver, backend, type, subgroup sizes.
    pub fn info(&self) -> &wgpu::AdapterInfo {
        &self.info
    }

    /// wgpu's adapter.
    pub fn wgpu(&self) -> &wgpu::Adapter {
        &self.adapter
    }

    /// The optional features that kernels use, as far as it has them: ask for these where you open the device yourself. Without them
    /// every norm works all the same, with the same bits.
    ///
    /// Subgroups, and on software drivers 64-bit integers: such drivers take every access apart, into half as many pieces of that
    /// size. (On lavapipe a norm then takes 0.6 to 0.7 of the time: `benches/README.md`.)
    pub fn useful_features(&self) -> wgpu::Features {
        let useful = match self.info.device_type {
            wgpu::DeviceType::Cpu => wgpu::Features::SUBGROUP | wgpu::Features::SHADER_INT64,
            _ => wgpu::Features::SUBGROUP,
        };
        self.adapter.features() & useful
    }

    /// Whether name, driver or backend contain `text`, whatever the case of its ASCII letters.
    pub fn matches(&self, text: &str) -> bool {
        self.to_string().to_ascii_lowercase().contains(&text.to_ascii_lowercase())
    }

    /// Discrete before integrated before virtual before unknown before software, and the wider of two software drivers first.
    fn rank(&self) -> (u32, Reverse<u32>) {
        let kind = match self.info.device_type {
            wgpu::DeviceType::DiscreteGpu => 0,
            wgpu::DeviceType::IntegratedGpu => 1,
            wgpu::DeviceType::VirtualGpu => 2,
            wgpu::DeviceType::Other => 3,
            wgpu::DeviceType::Cpu => 4,
        };
        (kind, Reverse(self.info.subgroup_max_size))
    }
}

/// Name, driver and backend.
impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wgpu::AdapterInfo { name, driver, driver_info, backend, .. } = &self.info;
        write!(f, "{name} ({driver} {driver_info}, {backend:?})")
    }
}

/// Every adapter of Vulkan, Metal, DX12 and WebGPU (and of OpenGL where `with_gl`, and the feature `gles` is on), the best
/// first: a discrete GPU before an integrated one, software last.
pub async fn adapters(with_gl: bool) -> Vec<Adapter> {
    // wgpu panics where it was built without any backend.
    if wgpu::Instance::enabled_backend_features().is_empty() {
        return Vec::new();
    }
    let backends = if with_gl { BACKENDS | wgpu::Backends::GL } else { BACKENDS };
    let instance = instance(with_gl, backends);
    #[cfg(not(target_arch = "wasm32"))]
    let found = instance.enumerate_adapters(backends).await;
    // A browser lists nothing; it is asked for its best.
    #[cfg(target_arch = "wasm32")]
    let found: Vec<_> = instance
        .request_adapter(&wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        })
        .await
        .into_iter()
        .collect();
    let mut sorted = Vec::new();
    for adapter in found.into_iter().map(|adapter| Adapter { info: adapter.get_info(), adapter }) {
        sorted.insert(sorted.partition_point(|before: &Adapter| before.rank() <= adapter.rank()), adapter);
    }
    sorted
}

/// One instance for all devices of this library: wgpu panics, rather than reports, where objects of two instances meet. The one
/// with OpenGL is apart, since its start-up alone has crashed programs (case M7).
#[cfg(not(target_arch = "wasm32"))]
fn instance(with_gl: bool, backends: wgpu::Backends) -> &'static wgpu::Instance {
    static INSTANCES: [OnceLock<wgpu::Instance>; 2] = [const { OnceLock::new() }; 2];
    INSTANCES[usize::from(with_gl)].get_or_init(|| new_instance(backends))
}

/// A browser has one anyway.
#[cfg(target_arch = "wasm32")]
fn instance(_: bool, backends: wgpu::Backends) -> wgpu::Instance {
    new_instance(backends)
}

fn new_instance(backends: wgpu::Backends) -> wgpu::Instance {
    wgpu::Instance::new(wgpu::InstanceDescriptor { backends, ..wgpu::InstanceDescriptor::new_without_display_handle() })
}

/// The best adapter, or the first that matches `name`.
pub(crate) async fn choose(name: Option<&str>, with_gl: bool) -> Result<Adapter> {
    let found = adapters(with_gl).await;
    let listed = found.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let chosen = match name {
        None => found.into_iter().next(),
        Some(name) => found.into_iter().find(|a| a.matches(name)),
    };
    chosen.ok_or_else(|| Error::NoAdapter {
        tried: match name {
            Some(name) if !listed.is_empty() => format!("an adapter like {name:?} among {listed}"),
            _ => backends_built(with_gl),
        },
        remedy: if listed.is_empty() { remedy().into() } else { "choose one of these".into() },
    })
}

/// The backends of this build that exist on this system.
fn backends_built(with_gl: bool) -> String {
    let compiled = wgpu::Instance::enabled_backend_features();
    let wanted = if with_gl { BACKENDS | wgpu::Backends::GL } else { BACKENDS };
    let names: Vec<_> = (wanted & compiled).iter_names().map(|(name, _)| name.to_owned()).collect();
    if names.is_empty() {
        "nothing, for this build has no backend (features vulkan, metal, dx12, webgpu)".into()
    } else {
        names.join(", ")
    }
}

/// What brings an adapter on this system.
fn remedy() -> &'static str {
    if cfg!(target_arch = "wasm32") {
        "use a browser with WebGPU, on a page served over https or from localhost"
    } else if cfg!(target_os = "linux") {
        "install your GPU's Vulkan driver, or the software one: apt-get install mesa-vulkan-drivers"
    } else if cfg!(target_os = "macos") {
        "Metal comes with macOS 10.13 and later: run outside a virtual machine without graphics"
    } else if cfg!(windows) {
        "install your GPU's driver; Windows' own software adapter (WARP) comes with DirectX 12"
    } else {
        "install a Vulkan driver"
    }
}
