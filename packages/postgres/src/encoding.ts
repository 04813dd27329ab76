/**
 * Encodes a key, the name of a queue or an id as bytes that sort like strings in JavaScript, by UTF-16 units: each unit as
 * one to three bytes, as UTF-8 encodes a code point. For a text without surrogates that is UTF-8, so that you can read the
 * keys with `convert_from(key, 'UTF8')`. A column of type `text` would sort by code points, and can't have U+0000.
 */
export function keyBytes(text: string): Buffer {
  if (!/[\ud800-\udfff]/.test(text)) return Buffer.from(text, 'utf8')
  const units = Array.from({ length: text.length }, (_, index) => text.charCodeAt(index))
  return Buffer.concat(
    units.map((unit) =>
      isSurrogate(unit)
        ? Buffer.from([0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f)])
        : Buffer.from(String.fromCharCode(unit), 'utf8'),
    ),
  )
}

/** Decodes `keyBytes`. */
export function keyText(bytes: Buffer): string {
  const parts: string[] = []
  let decoded = 0
  // UTF-8 has no surrogates: in it, 0xed is followed by a byte below 0xa0.
  for (let at = bytes.indexOf(0xed); at !== -1; at = bytes.indexOf(0xed, at + 3)) {
    const [second = 0, third = 0] = bytes.subarray(at + 1, at + 3)
    if (second < 0xa0) continue
    parts.push(
      bytes.toString('utf8', decoded, at),
      String.fromCharCode(0xd000 | ((second & 0x3f) << 6) | (third & 0x3f)),
    )
    decoded = at + 3
  }
  return [...parts, bytes.toString('utf8', decoded)].join('')
}

/** Whether bytes are those of a text. Others were written by hand, and no call can name their row. */
export function isKey(bytes: Buffer): boolean {
  return keyBytes(keyText(bytes)).equals(bytes)
}

/** Returns the smallest key after all keys that begin with a prefix. Undefined for an empty prefix, which has none. */
export function afterPrefix(prefix: string): Buffer | undefined {
  const bytes = keyBytes(prefix)
  const lastIndex = bytes.length - 1
  if (lastIndex === -1) return undefined
  // No byte of an encoded text is 0xff.
  bytes[lastIndex] = (bytes[lastIndex] ?? 0) + 1
  return bytes
}

/** U+0000 and lone surrogates, which PostgreSQL's `text` can't have. */
const notStorable = /[\0\p{Surrogate}]/u
/** The mark of a value that is stored as JSON. */
const mark = 'json:'

/**
 * Encodes a value as a `text` of PostgreSQL: as it is, or as JSON behind `json:` if PostgreSQL could not store it, or if it looks
 * like such a text itself. So each value has one text, and each text one value.
 */
export function packed(value: string): string {
  return notStorable.test(value) || escapedIn(value) !== undefined ? `${mark}${JSON.stringify(value)}` : value
}

/**
 * Decodes `packed`. A text that `packed` does not return, for example one that a person wrote, is a value as it is: who reads it
 * can then put that one aside, while an error would also hide those that were read with it.
 */
export function unpacked(text: string): string {
  return escapedIn(text) ?? text
}

/** Returns the value of a text that `packed` escaped. Undefined for any other text. */
function escapedIn(text: string): string | undefined {
  if (!text.startsWith(mark)) return undefined
  try {
    const value: unknown = JSON.parse(text.slice(mark.length))
    return typeof value === 'string' && packed(value) === text ? value : undefined
  } catch {
    return undefined
  }
}

/** Whether a UTF-16 unit is half of a pair. */
function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}
