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
  if (output === undefined || !isSendFile(tool)) return undefined
  const found = sentence.exec(output)
  if (!found) return undefined
  const [text, filename = '', mime = ''] = found
  const [address = ''] = /file:\/\/[^\s"]+/.exec(output.slice(found.index + text.length)) ?? []
  // An agent may have put it into brackets.
  const url = [address, address.slice(0, -1)].find((one) => lastSegment(one) === filename)
  if (url === undefined) return undefined
  return { mime, url, filename, caption: captionIn(input) }
}

/**
 * Returns the content that a call of `send_file` returned with its name and caption, which MCP has no fields for: the name is in the
 * tool's text. Files of other tools, and several ones, stay as they are.
 */
export function namedIfSent<File extends Pick<ReplyFile, 'filename' | 'caption'>>(
  files: readonly File[],
  tool: string,
  input: Readonly<Record<string, unknown>>,
  output: string | undefined,
): readonly File[] {
  const [file] = files
  if (output === undefined || !isSendFile(tool) || file === undefined || files.length > 1) return files
  const [, filename] = sentence.exec(output) ?? []
  if (filename === undefined) return files
  return [{ ...file, filename: file.filename ?? filename, caption: file.caption ?? captionIn(input) }]
}

/** Whether a tool is `send_file`, whatever its server is called. OpenCode writes `reply_send_file`, Claude Code `mcp__reply__send_file`. */
export function isSendFile(tool: string): boolean {
  return /(?:^|_)send_file$/.test(tool)
}

/** Returns the caption in the input of a call. Undefined without one. */
function captionIn({ caption }: Readonly<Record<string, unknown>>): string | undefined {
  return typeof caption === 'string' && caption.trim() !== '' ? caption.trim() : undefined
}

/** Returns the decoded end of an address. Undefined if it is malformed. */
function lastSegment(address: string): string | undefined {
  try {
    return decodeURIComponent(address.slice(address.lastIndexOf('/') + 1))
  } catch {
    return undefined
  }
}
