import { stripVTControlCharacters } from 'node:util'

/** Removes terminal sequences from a text that arrives in pieces. */
export interface PlainText {
  /** Returns the text without sequences. Holds an incomplete one at the end, up to 4,096 characters. */
  push(text: string): string
  /** Returns what is held, without sequences, and holds nothing. */
  end(): string
}

/**
 * A possibly incomplete sequence at the end of a text: `ESC [ …` or `ESC ] …` (ECMA-48 5.4 and 5.6), or `ESC` alone.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that begin and end sequences.
const unfinished = /(?:\u001b|\u009b)(?:[[(#;?\d]*|\][^\u0007\u001b]*\u001b?)$/

/** A longer sequence is treated as text, so that an unclosed one doesn't swallow the text after it. */
const longest = 4096

/**
 * Creates a filter that removes terminal sequences from a text in pieces. `push` holds an incomplete sequence at the end of
 * a piece until the next one. `end` returns what is held.
 */
export function createPlainText(): PlainText {
  let held = ''
  return {
    push: (text) => {
      const all = held + text
      const unfinishedAt = all.slice(-longest).search(unfinished)
      const heldFrom = unfinishedAt === -1 ? all.length : Math.max(0, all.length - longest) + unfinishedAt
      held = all.slice(heldFrom)
      return stripVTControlCharacters(all.slice(0, heldFrom))
    },
    end: () => {
      const rest = stripVTControlCharacters(held)
      held = ''
      return rest
    },
  }
}
