//! Sound of one channel, from and to WAV files.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};

/// What 16-bit samples are counted in.
const FULL_SCALE: f32 = 32768.0;

/// Sound of one channel; full scale is 1.
pub struct Wave {
    /// Samples a second.
    pub rate: u32,
    pub samples: Vec<f32>,
}

impl Wave {
    /// Reads a file, and mixes its channels down to one. The error names the file and the remedy.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let file = File::open(path).map_err(|error| {
            format!("cannot open {name}: {error}; pass the path of a WAV file, or none to have speech made up")
        })?;
        let remedy = format!("convert it: ffmpeg -i {name} -c:a pcm_s16le OTHER.wav");
        let reader = WavReader::new(BufReader::new(file))
            .map_err(|error| format!("{name} is no WAV file that can be read here ({error}); {remedy}"))?;
        let WavSpec { sample_rate: rate, bits_per_sample, sample_format, .. } = reader.spec();
        if rate < super::FRAMES {
            return Err(format!("{name} has {rate} samples a second, too few for speech; resample it to 8000 or more"));
        }
        let samples = match (sample_format, bits_per_sample) {
            (SampleFormat::Int, 16) => mix(reader, |sample: i16| f32::from(sample) / FULL_SCALE),
            (SampleFormat::Float, 32) => mix(reader, |sample: f32| sample),
            (SampleFormat::Int, bits) => return Err(format!("{name} has samples of {bits} bits, and 16 are read; {remedy}")),
            (SampleFormat::Float, bits) => return Err(format!("{name} has floats of {bits} bits, and 32 are read; {remedy}")),
        };
        let samples = samples.map_err(|error| format!("{name} is damaged or cut short ({error}); {remedy}"))?;
        if samples.is_empty() {
            return Err(format!("{name} holds no sound; pass a file with some"));
        }
        if samples.iter().any(|sample| !sample.is_finite()) {
            return Err(format!("{name} has samples that are NaN or infinite; {remedy}"));
        }
        Ok(Self { rate, samples })
    }

    /// Writes 16-bit samples, which every player takes. Those beyond full scale are clipped.
    pub fn write(&self, path: &Path) -> Result<(), hound::Error> {
        let spec = WavSpec { channels: 1, sample_rate: self.rate, bits_per_sample: 16, sample_format: SampleFormat::Int };
        let mut writer = WavWriter::create(path, spec)?;
        for &sample in &self.samples {
            writer.write_sample(quantise(sample))?;
        }
        writer.finalize()
    }

    /// How many samples are beyond full scale.
    pub fn clipped(&self) -> usize {
        self.samples.iter().filter(|sample| sample.abs() > 1.0).count()
    }

    /// The same, as a file will hold it.
    pub fn quantised(mut self) -> Self {
        self.samples.iter_mut().for_each(|sample| *sample = f32::from(quantise(*sample)) / FULL_SCALE);
        self
    }
}

/// The cast saturates.
fn quantise(sample: f32) -> i16 {
    (sample * FULL_SCALE).round() as i16
}

/// The mean of the channels, sample by sample.
fn mix<R: Read, S: hound::Sample>(mut reader: WavReader<R>, to_f32: impl Fn(S) -> f32) -> Result<Vec<f32>, hound::Error> {
    let channels = usize::from(reader.spec().channels);
    let samples = reader.samples().map(|sample| sample.map(&to_f32)).collect::<Result<Vec<f32>, _>>()?;
    Ok(samples.chunks_exact(channels).map(|at_once| at_once.iter().sum::<f32>() / channels as f32).collect())
}
