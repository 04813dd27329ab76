import type { ReplyFile } from '../../part.ts'

/** What the tool `send_file` of `@reply/tools` returns as its text. `size` is for people. */
export function sentFileText(name: string, mime: string, size: string): string {
  return `Attached for the people in the chat: ${name} (${mime}, ${size}).`
}

// Some agents put it into quotation marks or JSON.
const sentence = /Attached for the people in the chat: (.+?) \(([^\s(),]+\/[^\s(),]+), [\d.]+ [kMG]?B\)\./s

/**
 * Returns the file of a completed call of `send_file`, from agents that make a text of the link in its result: each puts the
 * address behind the tool's own text, in words of its own. Undefined for other tools, other outputs, and an address with
 * another name. The input has the caption.
 */
export function sentFile(
  tool: string,
  input: Readonly<Record<string, unknown>>,
  output: string | undefined,
): Omit<ReplyFile, 'id'> | undefined {
  // OpenCode writes `reply_send_file`, Claude Code `mcp__reply__send_file`.
  if (output === undefined || !/(?:^|_)send_file$/.test(tool)) return undefined
  const found = sentence.exec(output)
  if (!found) return undefined
  const [text, filename = '', mime = ''] = found
  const [address = ''] = /file:\/\/[^\s"]+/.exec(output.slice(found.index + text.length)) ?? []
  // An agent may have put it into brackets.
  const url = [address, address.slice(0, -1)].find((one) => lastSegment(one) === filename)
  if (url === undefined) return undefined
  const { caption } = input
  const hasCaption = typeof caption === 'string' && caption.trim() !== ''
  return { mime, url, filename, caption: hasCaption ? caption.trim() : undefined }
}

/** Returns the decoded end of an address. Undefined if it is malformed. */
function lastSegment(address: string): string | undefined {
  try {
    return decodeURIComponent(address.slice(address.lastIndexOf('/') + 1))
  } catch {
    return undefined
  }
}
