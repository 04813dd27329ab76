/**
 * Characters that are invisible or that reorder the text around them: control characters except line feed and tab,
 * everything in Unicode's "format" or "default ignorable" classes (zero-width and bidirectional characters, fillers,
 * tags), the line and paragraph separators, lone surrogates. The emoji variation selector stays after a pictograph.
 */
const unseen = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu

const pictograph = /\p{Extended_Pictographic}$/u

/**
 * Makes hidden characters visible: writes control, zero-width and bidirectional characters as `\u202e`, those beyond
 * U+FFFF as `\u{e0041}`. Line feeds and tabs stay. A carriage return is written out. Idempotent.
 */
export function escapeInvisible(text: string): string {
  return text.replace(unseen, (character, at: number) => {
    if (character === '\ufe0f' && pictograph.test(text.slice(Math.max(0, at - 2), at))) return character
    return escaped(character)
  })
}

/** A character written out: `\u202e`, or `\u{e0041}` beyond U+FFFF. */
export function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const hex = code.toString(16)
  return code > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`
}
