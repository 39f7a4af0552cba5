//! A sound like speech, the same in every run: pulses of a voice and noise, each through resonances like those of a mouth.

use std::f32::consts::TAU;

use super::wave::Wave;

const RATE: u32 = 16_000;
/// A voice's pitch, in Hz, and how slowly and how far it wavers.
const PITCH: f32 = 120.0;
const VIBRATO_HZ: f32 = 5.0;
const VIBRATO: f32 = 0.03;
/// Every part swells and fades over this many samples (10 ms), or it would click.
const FADE: usize = 160;

#[derive(Clone, Copy)]
enum Source {
    Silence,
    Voice,
    Noise,
}
use Source::{Noise, Silence, Voice};

/// A stretch of sound: what excites it, the resonances in Hz, how long it lasts in seconds, and its RMS in dBFS.
type Part = (Source, [f32; 2], f32, f64);

const AH: [f32; 2] = [700.0, 1200.0];
const EE: [f32; 2] = [300.0, 2300.0];
const OH: [f32; 2] = [450.0, 800.0];
const HISS: [f32; 2] = [4500.0, 6500.0];

const PARTS: [Part; 11] = [
    (Silence, AH, 0.20, 0.0),
    (Voice, AH, 0.45, -17.0),
    (Noise, HISS, 0.15, -28.0),
    (Voice, EE, 0.35, -22.0),
    (Silence, AH, 0.25, 0.0),
    // Someone far from the microphone ...
    (Voice, OH, 0.40, -40.0),
    (Noise, HISS, 0.15, -40.0),
    // ... and a room with nobody in it: below the noise floor.
    (Noise, OH, 0.30, -65.0),
    (Noise, HISS, 0.15, -30.0),
    (Voice, AH, 0.40, -20.0),
    (Silence, AH, 0.20, 0.0),
];

/// Three seconds, as a 16-bit file holds them: what is played is what was computed from.
pub fn synthesise() -> Wave {
    let mut noise = white_noise();
    let samples = PARTS.iter().flat_map(|part| sound(part, &mut noise)).collect();
    Wave { rate: RATE, samples }.quantised()
}

fn sound(&(source, resonances, seconds, level): &Part, noise: &mut impl FnMut() -> f32) -> Vec<f32> {
    let count = (seconds * RATE as f32).round() as usize;
    let mut samples: Vec<f32> = match source {
        Silence => return vec![0.0; count],
        Voice => voice(count),
        Noise => (0..count).map(|_| noise()).collect(),
    };
    for frequency in resonances {
        resonate(&mut samples, frequency);
    }
    let squares: f64 = samples.iter().map(|&sample| f64::from(sample).powi(2)).sum();
    let gain = (super::amplitude(level) / (squares / count as f64).sqrt()) as f32;
    for (index, sample) in samples.iter_mut().enumerate() {
        let edge = index.min(count - 1 - index);
        *sample *= gain * (edge as f32 / FADE as f32).min(1.0);
    }
    samples
}

/// All harmonics below 4 kHz, each weaker than the one before, as a glottis has them.
fn voice(count: usize) -> Vec<f32> {
    let mut phase = 0.0f32;
    let mut next = |index: usize| {
        let waver = (TAU * VIBRATO_HZ * index as f32 / RATE as f32).sin();
        phase = (phase + PITCH * (1.0 + VIBRATO * waver) / RATE as f32).fract();
        (1..=(4000.0 / PITCH) as u32).map(|k| (TAU * (k as f32 * phase).fract()).cos() / k as f32).sum()
    };
    (0..count).map(&mut next).collect()
}

/// A filter of two poles, 100 Hz wide.
fn resonate(samples: &mut [f32], frequency: f32) {
    let radius = (-TAU / 2.0 * 100.0 / RATE as f32).exp();
    let (a, b) = (2.0 * radius * (TAU * frequency / RATE as f32).cos(), radius * radius);
    let (mut one_ago, mut two_ago) = (0.0, 0.0);
    for sample in samples {
        *sample += a * one_ago - b * two_ago;
        (one_ago, two_ago) = (*sample, one_ago);
    }
}

/// Uniform numbers from -1 to 1 (a linear congruence's upper bits).
fn white_noise() -> impl FnMut() -> f32 {
    let mut state = 1u64;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}
