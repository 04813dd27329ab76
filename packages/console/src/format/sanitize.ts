import { escapeDeceptive, escapeInvisible } from '@reply/core'

// Text of models and tools may contain terminal commands: colours, cursor moves, title changes, links, clipboard
// writes. Everything below works line by line, so what a finished line shows never depends on later text.

const BREAK = /\r\n?|\u0085|\u2028|\u2029/g

// CSI, then OSC, DCS, SOS, PM and APC up to their terminator or the end of the line, then every other escape.
const SEQUENCE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/g

// C0 except tab and line feed, DEL, C1, the directional embeddings, overrides and isolates, and lone surrogates.
const CONTROL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/** Matches text that needs no cleaning. */
const CLEAN = /^[\t\n -~\u00a0-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\uffff]*$/

/**
 * Removes escape sequences and control characters except line feed and tab. Other line breaks become line feeds.
 *
 * A sequence without an end takes the rest of its line with it. Idempotent.
 */
export function clean(text: string): string {
  if (CLEAN.test(text)) return text
  return text.replace(BREAK, '\n').replace(SEQUENCE, '').replace(CONTROL, '')
}

/** As `clean`, in one line: white space, breaks and tabs included, collapses to one space, and the ends are trimmed. */
export function cleanLine(text: string): string {
  return clean(text).replace(/\s+/g, ' ').trim()
}

/** Returns one line with control and invisible characters written out. Breaks and tabs become spaces. */
export function visibleLine(text: string): string {
  return escapeInvisible(text).replace(/\s+/g, ' ').trim()
}

/** As `visibleLine`, for text that a person approves. See `escapeDeceptive`. */
export function legibleLine(text: string): string {
  return escapeDeceptive(text).replace(/\s+/g, ' ').trim()
}

/** Escapes characters that `JSON.stringify` leaves raw but a terminal may obey: DEL, C1 and directional controls. */
export function cleanJson(json: string): string {
  return json.replace(/[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, escapeUnit)
}

/** Returns the JSON escape of a UTF-16 unit, for example `\u007f`. */
function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
