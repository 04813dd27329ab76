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

/** Returns the smallest key after all keys that begin with a prefix. Undefined for an empty prefix, which has none. */
export function afterPrefix(prefix: string): Buffer | undefined {
  const bytes = keyBytes(prefix)
  const lastIndex = bytes.length - 1
  if (lastIndex === -1) return undefined
  // No byte of an encoded text is 0xff.
  bytes[lastIndex] = (bytes[lastIndex] ?? 0) + 1
  return bytes
}

/** U+0000 and lone surrogates, which PostgreSQL's `text` can't have, and the mark of an escaped value. */
const needsEscape = /^json:|[\0\p{Surrogate}]/u

/** Encodes a value as a `text` of PostgreSQL: as it is, or as JSON behind `json:` if PostgreSQL could not store it. */
export function packed(value: string): string {
  return needsEscape.test(value) ? `json:${JSON.stringify(value)}` : value
}

/** Decodes `packed`. */
export function unpacked(text: string): string {
  return text.startsWith('json:') ? String(JSON.parse(text.slice('json:'.length))) : text
}

/** Whether a UTF-16 unit is half of a pair. */
function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}
