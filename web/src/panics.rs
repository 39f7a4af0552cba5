//! What JavaScript is told of a panic.

use js_sys::Function;
use wasm_bindgen::prelude::*;

/// Has `tell` called with the message of a panic. Whatever is awaited then never settles by itself: the module has ended.
#[wasm_bindgen]
pub fn on_panic(tell: Function) {
    std::panic::set_hook(Box::new(move |panic| {
        // There is nobody left to tell that this failed too.
        let _ = tell.call1(&JsValue::UNDEFINED, &panic.to_string().into());
    }));
}
