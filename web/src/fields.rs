//! The fields of an object that a caller passes.

use js_sys::{Object, Reflect};
use wasm_bindgen::prelude::*;

use crate::error::{NormError, Refused, Result, describe};

/// The largest whole number that JavaScript counts to without gaps.
const MOST: f64 = 9_007_199_254_740_991.0;

/// An object whose fields are known by name.
pub struct Fields<'a>(&'a JsValue);

impl<'a> Fields<'a> {
    /// The object, where it is one and has no other fields than these. What is `undefined` is not there.
    pub fn new(argument: &str, object: &'a JsValue, known: &[&str], refused: Refused) -> Result<Self> {
        if !object.is_object() {
            let expected = format!("an object of {}", known.join(", "));
            return Err(refused.because(argument, &expected, &describe(object), "pass an object with these fields"));
        }
        let keys = Object::keys(object.unchecked_ref::<Object>());
        let unknown = keys.iter().filter_map(|key| key.as_string()).find(|key| !known.contains(&key.as_str()));
        match unknown {
            None => Ok(Self(object)),
            Some(key) => {
                let expected = format!("a field of {argument}: {}", known.join(", "));
                Err(refused.because(&key, &expected, "another", "leave it out, or spell it as one of these"))
            }
        }
    }

    /// A field, where it is there.
    pub fn get(&self, name: &str) -> Option<JsValue> {
        Reflect::get(self.0, &name.into()).ok().filter(|value| !value.is_undefined())
    }

    /// A number of things.
    pub fn whole(&self, name: &str) -> Result<Option<u64>> {
        self.get(name).map(|value| whole(name, &value)).transpose()
    }

    /// A text.
    pub fn text(&self, name: &str, expected: &str) -> Result<Option<String>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_string().map(Some).ok_or_else(|| wrong_kind(name, expected, &value))
    }

    /// A number.
    pub fn number(&self, name: &str) -> Result<Option<f64>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_f64().map(Some).ok_or_else(|| wrong_kind(name, "a number", &value))
    }

    /// A number as f32 has it. What f32 would turn into zero is refused; what it turns into infinity the library refuses.
    pub fn single(&self, name: &str) -> Result<Option<f32>> {
        let Some(value) = self.number(name)? else { return Ok(None) };
        let single = value as f32;
        if single == 0.0 && value != 0.0 {
            return Err(wrong_kind(name, "0, or a number that f32 holds", &value.into()));
        }
        Ok(Some(single))
    }

    /// Whether something is so.
    pub fn flag(&self, name: &str) -> Result<Option<bool>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| wrong_kind(name, "true or false", &value))
    }
}

/// A number of things.
pub fn whole(name: &str, value: &JsValue) -> Result<u64> {
    let count = value.as_f64().filter(|count| (0.0..=MOST).contains(count) && count.fract() == 0.0);
    count.map(|count| count as u64).ok_or_else(|| wrong_kind(name, "a whole number", value))
}

fn wrong_kind(name: &str, expected: &str, value: &JsValue) -> NormError {
    Refused::Spec.because(name, expected, &describe(value), "pass one, or leave the field out where it has a default")
}

/// An object of these fields.
pub fn object(fields: &[(&str, JsValue)]) -> JsValue {
    let object = Object::new();
    for (name, value) in fields {
        // A new object takes any field.
        let _ = Reflect::set(&object, &(*name).into(), value);
    }
    object.into()
}
