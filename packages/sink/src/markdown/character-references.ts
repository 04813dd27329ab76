const namedReferences: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
}

/**
 * Decodes numeric character references and the most frequent names, for example `&amp;`. Other names stay as they are. Also
 * removes spaces and tabs around line feeds.
 */
export function decodeReferences(raw: string): string {
  const text = /[ \t]\n|\n[ \t]/.test(raw) ? raw.replace(/[ \t]*\n[ \t]*/g, '\n') : raw
  if (!text.includes('&')) return text
  return text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(amp|lt|gt|quot|apos|nbsp));/g, (_, decimal, hex, name) =>
    name === undefined
      ? characterOf(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal))
      : (namedReferences[name] ?? ''),
  )
}

/** Returns the character of a code point. U+FFFD for a number that is not a character. */
function characterOf(code: number): string {
  const none = code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)
  return none ? '\ufffd' : String.fromCodePoint(code)
}
