/**
 * A text as bytes that sort as texts do: by UTF-16 units. SQLite sorts texts by their UTF-8, so by code points.
 */
export function keyBytes(text: string): Buffer {
  return Buffer.from(text, 'utf16le').swap16()
}

/** The text of `keyBytes`. */
export function keyText(bytes: unknown): string {
  return Buffer.from(bytesOf(bytes)).swap16().toString('utf16le')
}

/** The bytes after all keys that begin with a prefix. Undefined if there are no such bytes. */
export function afterPrefix(prefix: string): Buffer | undefined {
  const bytes = keyBytes(prefix)
  const last = bytes.findLastIndex((byte) => byte < 0xff)
  const after = bytes.subarray(0, last + 1)
  after[last] = (after[last] ?? 0) + 1
  return last === -1 ? undefined : after
}

/** Half surrogates, which UTF-8 lacks, and U+0000, at which the driver ends a text. */
const unsafe = /[\0\p{Surrogate}]/u

/** A value as SQLite can keep it: as text, or as bytes if a text would change it. */
export function packed(value: string): string | Buffer {
  return unsafe.test(value) ? Buffer.from(value, 'utf16le') : value
}

/** The value of `packed`. A number was put there by hand. */
export function unpacked(column: unknown): string {
  if (typeof column === 'number') return String(column)
  return typeof column === 'string' ? column : Buffer.from(bytesOf(column)).toString('utf16le')
}

/** A copy: `swap16` works in place. */
function bytesOf(column: unknown): Uint8Array {
  if (column instanceof ArrayBuffer || column instanceof Uint8Array) return new Uint8Array(column).slice()
  throw new TypeError(`A column holds a ${typeof column} instead of bytes.`)
}
