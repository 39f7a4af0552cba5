//! smoke
use wgpu_rmsnorm::*;
fn main() {
    for a in pollster::block_on(adapters(false)) {
        let t = std::time::Instant::now();
        let gpu = pollster::block_on(Gpu::open(&a, &GpuOptions::default().without_self_test()));
        let gpu = match gpu { Ok(g) => g, Err(e) => { println!("{e}"); continue } };
        println!("{gpu} opened {:?}", t.elapsed());
        let t = std::time::Instant::now();
        let s = pollster::block_on(gpu.self_test());
        println!("{:?} {:?}", t.elapsed(), s);
    }
}
