//! smoke
use std::time::Instant;
use wgpu_rmsnorm::*;
fn main() {
    for a in pollster::block_on(adapters(false)) {
        let gpu = match pollster::block_on(Gpu::open(&a, &GpuOptions::default().without_self_test())) { Ok(g) => g, Err(e) => { println!("{e}"); continue } };
        println!("{gpu}");
        for (h, d, rows) in [(4096u64, DType::F32, 1024u64), (4096, DType::BF16, 1024), (4099, DType::BF16, 1024), (128, DType::F32, 8192), (128, DType::F16, 8192),(1000, DType::F16, 4096), (65536, DType::F32, 64), (1<<20, DType::F32, 4)] {
            let spec = NormSpec::torch(h, 1e-6).dtype(d);
            let x = Values::round_from(d, &(0..h*rows).map(|i| ((i*7919)%1001) as f64/500.0-1.0).collect::<Vec<_>>());
            let mk = |n: u64| gpu.device().create_buffer(&wgpu::BufferDescriptor{label:None,size:n.next_multiple_of(16),usage:wgpu::BufferUsages::STORAGE|wgpu::BufferUsages::COPY_DST|wgpu::BufferUsages::COPY_SRC,mapped_at_creation:false});
            let bytes = h*rows*d.size();
            let (i, o, w) = (mk(bytes), mk(bytes), mk(h*d.size()));
            gpu.queue().write_buffer(&i, 0, x.as_slice().bytes());
            let t = Instant::now();
            let p = gpu.norm(spec).unwrap().prepare_blocking(&Operands::new(&i, &o).weight(&w), rows).unwrap();
            let t1 = t.elapsed();
            let run = |n: usize| { let mut e = gpu.device().create_command_encoder(&Default::default()); for _ in 0..n { p.record_in(&mut e, rows).unwrap(); } gpu.queue().submit([e.finish()]); gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap(); };
            let t = Instant::now(); run(1); let first = t.elapsed();
            let mut best = f64::MAX; for _ in 0..9 { let t = Instant::now(); run(1); best = best.min(t.elapsed().as_secs_f64()); }
            println!("{h:7} {d:4} {rows:6} {} w{} r{}x{} prepare {t1:?} first {first:?} best {:.3} ms {:.2} GB/s", p.plan().rung.name(), p.plan().width, p.plan().rows_at_once, p.plan().rounds, best*1e3, p.plan().bytes(rows) as f64/best/1e9);
        }
    }
}
