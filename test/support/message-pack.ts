/** Reads an array of integers and strings, as `cmsgpack.pack` of Redis writes it. */
export function unpack(bytes: Buffer): (number | string)[] {
  let at = 0;
  const take = (length: number): number => {
    at += length;
    return at - length;
  };
  const length = (): number => {
    const first = bytes.readUInt8(take(1));
    if (first >> 4 === 0b1001) return first & 0b1111;
    return first === 0xdc ? bytes.readUInt16BE(take(2)) : bytes.readUInt32BE(take(4));
  };
  const text = (size: number): string => bytes.toString('utf8', take(size), at);
  const readers: Record<number, () => number | string> = {
    0xcc: () => bytes.readUInt8(take(1)),
    0xcd: () => bytes.readUInt16BE(take(2)),
    0xce: () => bytes.readUInt32BE(take(4)),
    0xcf: () => Number(bytes.readBigUInt64BE(take(8))),
    0xd0: () => bytes.readInt8(take(1)),
    0xd1: () => bytes.readInt16BE(take(2)),
    0xd2: () => bytes.readInt32BE(take(4)),
    0xd3: () => Number(bytes.readBigInt64BE(take(8))),
    0xd9: () => text(bytes.readUInt8(take(1))),
    0xda: () => text(bytes.readUInt16BE(take(2))),
  };
  const value = (): number | string => {
    const first = bytes.readUInt8(take(1));
    if (first < 0x80) return first;
    if (first >= 0xe0) return first - 0x100;
    if (first >> 5 === 0b101) return text(first & 0b11111);
    const reader = readers[first];
    if (reader === undefined) throw new TypeError(`not an integer or a text: ${first}`);
    return reader();
  };
  const values = Array.from({ length: length() }, value);
  if (at !== bytes.length) throw new TypeError('there is more than one value');
  return values;
}
