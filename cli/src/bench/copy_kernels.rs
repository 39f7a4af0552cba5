//! The kernels that a norm's copy is chosen of, as text: for whoever times norms.

/// A kernel that copies.
pub struct CopyKernel {
    /// The element of its bindings.
    element: &'static str,
    /// Bytes of one.
    access: u64,
    /// Invocations of a workgroup.
    size: u64,
    /// Elements that an invocation copies.
    each: u64,
}

/// A kernel for so many bytes.
pub struct CopyOf {
    /// Its text, with the entry point `main`, the source at binding 0 and the target at binding 1.
    pub wgsl: String,
    /// Its grid.
    pub workgroups: [u32; 2],
    /// Its accesses and its workgroup, in words.
    pub name: String,
}

/// Those of every device.
pub const KERNELS: [CopyKernel; 9] = [
    CopyKernel::new("u32", 4, 64, 1),
    CopyKernel::new("u32", 4, 256, 1),
    CopyKernel::new("vec2<u32>", 8, 64, 1),
    CopyKernel::new("vec4<u32>", 16, 8, 4),
    CopyKernel::new("vec4<u32>", 16, 32, 1),
    CopyKernel::new("vec4<u32>", 16, 32, 4),
    CopyKernel::new("vec4<u32>", 16, 64, 1),
    CopyKernel::new("vec4<u32>", 16, 256, 1),
    CopyKernel::new("vec4<u32>", 16, 256, 4),
];
/// Those of devices on which norms go by 64-bit words.
pub const LONG_KERNELS: [CopyKernel; 3] =
    [CopyKernel::new("vec2<u64>", 16, 32, 4), CopyKernel::new("vec2<u64>", 16, 256, 1), CopyKernel::new("vec2<u64>", 16, 256, 4)];

impl CopyKernel {
    const fn new(element: &'static str, access: u64, size: u64, each: u64) -> Self {
        Self { element, access, size, each }
    }

    /// The kernel for so many bytes, whole elements, on a device with so many workgroups on an axis.
    pub fn of(&self, bytes: u64, max_workgroups: u32) -> CopyOf {
        let Self { element, access, size, each } = self;
        let (elements, span) = (bytes / access, size * each);
        let groups = elements.div_ceil(span);
        let width = groups.min(u64::from(max_workgroups));
        let wgsl = format!(
            "@group(0) @binding(0) var<storage, read> source: array<{element}>;\n\
             @group(0) @binding(1) var<storage, read_write> to: array<{element}>;\n\
             @compute @workgroup_size({size})\n\
             fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {{\n\
                 let first = (group.y * {width}u + group.x) * {span}u + index;\n\
                 for (var k = 0u; k < {each}u; k++) {{\n\
                     let i = first + k * {size}u;\n\
                     if (i < {elements}u) {{\n\
                         to[i] = source[i];\n\
                     }}\n\
                 }}\n\
             }}\n",
        );
        let name = format!("{element} x {each}, workgroups of {size}");
        CopyOf { wgsl, workgroups: [width as u32, groups.div_ceil(width) as u32], name }
    }
}
