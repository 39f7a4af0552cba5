// An ONNX model of one norm over the last dimension, f32: a file that onnxruntime-web loads. Written by hand, for it is a few fields
// of the format (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto), whose numbers stand beside them.

const FLOAT = 1;
const [OF_FLOAT, OF_INT] = [1, 2];

/** The bytes of a model with the inputs `x` and `weight` (and `bias`, where the operation is LayerNormalization) and the output `y`. */
export function model(operation, rows, hidden, eps) {
  const inputs = operation === "LayerNormalization" ? ["x", "weight", "bias"] : ["x", "weight"];
  const attributes = [
    message(text(1, "axis"), number(3, -1n), number(20, OF_INT)),
    message(text(1, "epsilon"), real(2, eps), number(20, OF_FLOAT)),
  ];
  const node = message(...inputs.map((name) => text(1, name)), text(2, "y"), text(4, operation), ...attributes.map((of) => part(5, of)));
  const value = (name) => {
    const shape = message(...(name === "x" || name === "y" ? [rows, hidden] : [hidden]).map((size) => part(1, message(number(1, size)))));
    return message(text(1, name), part(2, message(part(1, message(number(1, FLOAT), part(2, shape))))));
  };
  const graph = message(part(1, node), text(2, "norm"), ...inputs.map((name) => part(11, value(name))), part(12, value("y")));
  const version = 10;
  const opset = message(number(2, 23));
  return message(number(1, version), part(7, graph), part(8, opset));
}

const message = (...parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
const number = (field, value) => Uint8Array.from([...varint(field << 3), ...varint(value)]);
const part = (field, bytes) => Uint8Array.from([...varint((field << 3) | 2), ...varint(bytes.length), ...bytes]);
const text = (field, value) => part(field, new TextEncoder().encode(value));
const real = (field, value) => Uint8Array.from([...varint((field << 3) | 5), ...new Uint8Array(Float32Array.of(value).buffer)]);

function varint(value) {
  const bytes = [];
  let left = BigInt.asUintN(64, BigInt(value));
  do {
    bytes.push(Number(left & 0x7fn) | (left > 0x7fn ? 0x80 : 0));
    left >>= 7n;
  } while (left > 0n);
  return bytes;
}
