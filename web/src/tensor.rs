//! Typed arrays and the library's values.

use js_sys::{Float32Array, Float64Array, Uint8Array, Uint16Array};
use wasm_bindgen::prelude::*;
use wgpu_rmsnorm::{DType, Values};

use crate::error::{Refused, Result, describe};
use crate::spec::dtype_of;

/// The values of a typed array, copied; a `Uint16Array` holds bits of `dtype`, where that is a half type.
pub fn from_js(name: &str, array: &JsValue, dtype: Option<DType>) -> Result<Values> {
    let bits = array.dyn_ref::<Uint16Array>();
    let (came, bytes) = match (array.dyn_ref::<Float32Array>(), bits) {
        (Some(array), _) => (DType::F32, bytes_of(&array.buffer(), array.byte_offset(), array.byte_length())),
        (_, Some(array)) => {
            let half = dtype.filter(|dtype| dtype.is_half()).unwrap_or(DType::F16);
            (half, bytes_of(&array.buffer(), array.byte_offset(), array.byte_length()))
        }
        _ => {
            let expected = dtype.map_or("a Float32Array or a Uint16Array".into(), array_for);
            return Err(Refused::DType.because(name, &expected, &describe(array), "convert the data"));
        }
    };
    match dtype {
        Some(dtype) if dtype != came => {
            let remedy = "convert the data, or set the norm's dtype to the data's";
            Err(Refused::DType.because(name, &array_for(dtype), &describe(array), remedy))
        }
        _ => Ok(Values::from_bytes(came, &bytes)),
    }
}

fn array_for(dtype: DType) -> String {
    match dtype {
        DType::F32 => "f32 elements in a Float32Array".into(),
        half => format!("bits of {half} elements in a Uint16Array"),
    }
}

fn bytes_of(buffer: &JsValue, offset: u32, length: u32) -> Vec<u8> {
    Uint8Array::new_with_byte_offset_and_length(buffer, offset, length).to_vec()
}

/// A typed array of its own.
pub fn to_js(values: &Values) -> JsValue {
    let values = values.as_slice();
    let bytes = Uint8Array::from(values.bytes()).buffer();
    if values.dtype() == DType::F32 { Float32Array::new(&bytes).into() } else { Uint16Array::new(&bytes).into() }
}

/// The bits of numbers in a half type, rounded to nearest, ties to even.
#[wasm_bindgen]
pub fn to_bits(dtype: &JsValue, values: &JsValue) -> Result<JsValue> {
    let dtype = half(dtype)?;
    if !values.is_object() {
        let remedy = "pass an array, or a typed array";
        return Err(Refused::Argument.because("values", "numbers", &describe(values), remedy));
    }
    Ok(to_js(&Values::round_from(dtype, &Float64Array::new(values).to_vec())))
}

/// The numbers that bits of a half type stand for.
#[wasm_bindgen]
pub fn from_bits(dtype: &JsValue, bits: &JsValue) -> Result<JsValue> {
    let values = from_js("bits", bits, Some(half(dtype)?))?;
    Ok(to_js(&Values::round_from(DType::F32, &values.as_slice().widen())))
}

fn half(dtype: &JsValue) -> Result<DType> {
    match dtype_of("dtype", dtype)? {
        DType::F32 => {
            let remedy = "f32 values need no conversion";
            Err(Refused::Argument.because("dtype", "\"f16\" or \"bf16\"", &describe(dtype), remedy))
        }
        half => Ok(half),
    }
}
