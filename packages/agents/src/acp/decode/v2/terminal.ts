import type { Update } from './schema.ts'

/** A terminal of the agent, whose commands it runs itself. */
export interface AgentTerminal {
  readonly terminalID: string
  readonly text: string
  /** The bytes of a character that is not complete yet. */
  readonly rest: Uint8Array
}

const empty = new Uint8Array()

/**
 * Applies an update. Output replaces the whole text, and null clears it. Without output the terminal stays as it is, or
 * begins empty.
 */
export function updatedTerminal(
  known: AgentTerminal | undefined,
  { terminalId: terminalID, output }: Pick<Update<'terminal_update'>, 'terminalId' | 'output'>,
): AgentTerminal {
  const cleared = { terminalID, text: '', rest: empty }
  if (output === undefined) return known ?? cleared
  return output === null ? cleared : grownTerminal(cleared, output.data)
}

/** Appends output that is encoded as base64. A character that is not complete yet is kept for the next piece. */
export function grownTerminal(known: AgentTerminal, data: string): AgentTerminal {
  const bytes = Buffer.concat([known.rest, Buffer.from(data, 'base64')])
  const end = bytes.length - partialLength(bytes)
  return { ...known, text: known.text + bytes.toString('utf8', 0, end), rest: bytes.subarray(end) }
}

/**
 * Returns the number of bytes at the end that begin a UTF-8 character without completing it. 0 if the last character is
 * complete or malformed.
 */
function partialLength(bytes: Uint8Array): number {
  for (let length = 1; length <= Math.min(3, bytes.length); length++) {
    const byte = bytes[bytes.length - length] ?? 0
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return length < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? length : 0
  }
  return 0
}
