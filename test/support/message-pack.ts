/** The bytes that `cmsgpack.pack` of Redis makes of a value. Anything but arrays, strings and numbers becomes nil. */
export function pack(value: unknown): Buffer {
  if (Array.isArray(value)) return Buffer.concat([arrayHead(value.length), ...value.map(pack)]);
  if (typeof value === 'string')
    return Buffer.concat([stringHead(Buffer.byteLength(value)), Buffer.from(value)]);
  if (typeof value !== 'number') return Buffer.from([0xc0]);
  return Number.isInteger(value) ? integer(value) : fraction(value);
}

function arrayHead(length: number): Buffer {
  if (length < 16) return Buffer.from([0x90 + length]);
  return length < 2 ** 16 ? form(0xdc, length, 2) : form(0xdd, length, 4);
}

function stringHead(length: number): Buffer {
  if (length < 32) return Buffer.from([0xa0 + length]);
  if (length < 2 ** 8) return form(0xd9, length, 1);
  return length < 2 ** 16 ? form(0xda, length, 2) : form(0xdb, length, 4);
}

function integer(value: number): Buffer {
  if (value >= -32 && value < 128) return Buffer.from([value & 0xff]);
  const isNegative = value < 0;
  const fits = (size: number): boolean => (isNegative ? value >= -(256 ** size) / 2 : value < 256 ** size);
  const sizes = [1, 2, 4, 8];
  const at = sizes.findIndex(fits);
  return form((isNegative ? 0xd0 : 0xcc) + at, value, sizes[at]!);
}

function fraction(value: number): Buffer {
  const bytes = Buffer.alloc(9, 0xcb);
  bytes.writeDoubleBE(value, 1);
  return bytes;
}

/** A first byte, and the last bytes of an integer. */
function form(first: number, value: number, size: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return Buffer.from([first, ...bytes.subarray(8 - size)]);
}
