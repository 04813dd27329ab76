import { ReplyError, type ReplyFailure } from '@reply/core'
import type { InputPart, LocalEnding, SourcePrompt } from '@reply/core/source'

/** The media that the agent accepts in prompts, besides text and links. */
export interface PromptRights {
  readonly image: boolean
  readonly audio: boolean
}

export type PromptBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | { readonly type: 'resource_link'; readonly uri: string; readonly name: string; readonly mimeType: string }

/** Converts a prompt to the protocol's blocks. Throws `unsupported` for fields that the protocol lacks. */
export function blocksOf(prompt: SourcePrompt, rights: PromptRights, name: string): readonly PromptBlock[] {
  const { text, parts = [], files = [], system, tools, format } = prompt
  if (system !== undefined) throw lacks(name, 'a system prompt', 'put it into the text')
  if (tools !== undefined) throw lacks(name, 'a choice of tools', 'leave it out')
  if (format !== undefined) throw lacks(name, 'a format', 'ask for it in the text')
  const first: readonly PromptBlock[] = text === undefined || text === '' ? [] : [{ type: 'text', text }]
  const all: readonly InputPart[] = [...parts, ...files.map((file): InputPart => ({ type: 'file', ...file }))]
  return [...first, ...all.map((part) => blockOf(part, rights, name))]
}

function blockOf(part: InputPart, rights: PromptRights, name: string): PromptBlock {
  if (part.type === 'text') return { type: 'text', text: part.text }
  if (part.type !== 'file') throw lacks(name, `a part of the type "${part.type}"`, 'put it into the text')
  const { url, mime, filename } = part
  const data = /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1]
  if (data === undefined && !url.startsWith('data:'))
    return { type: 'resource_link', uri: url, name: filename ?? url.split('/').at(-1) ?? url, mimeType: mime }
  const type = mime.startsWith('image/') ? 'image' : mime.startsWith('audio/') ? 'audio' : undefined
  if (type && rights[type] && data !== undefined) return { type, data, mimeType: mime }
  throw lacks(name, `a file of the type "${mime}" as data`, 'give its location as file://')
}

function lacks(name: string, what: string, cure: string): ReplyError {
  return new ReplyError('unsupported', `${name} does not accept a prompt with ${what}: ${cure}.`)
}

/** Converts a stop reason. One that protocol 1 doesn't have completes the run, and is kept as the finish reason. */
export function endingOf(stopReason: string): LocalEnding {
  switch (stopReason) {
    case 'end_turn':
      return { type: 'completed' }
    case 'max_tokens':
      return { type: 'completed', finish: 'length' }
    // The agent had more to do.
    case 'max_turn_requests':
      return { type: 'completed', finish: 'tool-calls' }
    case 'refusal':
      return { type: 'failed', error: { name: 'refusal', message: 'The agent refused to continue.', raw: stopReason } }
    case 'cancelled':
      return { type: 'aborted' }
    default:
      return { type: 'completed', finish: stopReason }
  }
}

/** A JSON-RPC error from the agent. Some agents put the provider's message into `data`. */
interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/**
 * Converts an error. Code -32000 means that a login is required:
 * https://agentclientprotocol.com/protocol/schema#errorcode
 */
export function failureOf({ code, message, data }: RpcError): ReplyFailure {
  const details = messageIn(data)
  const isRefused = code === -32_000
  // Gemini CLI 0.61 sends the provider's HTTP status as the code, and its JSON as the message.
  const statusCode = isRefused ? 401 : code >= 400 && code < 600 ? code : undefined
  const name = isRefused ? 'unauthorized' : `JSON-RPC ${code}`
  const main = messageIn(providerError(message)) ?? message
  const all = details === undefined || main.includes(details) ? main : `${main}: ${details}`
  return { name, message: all, ...(statusCode && { statusCode }), raw: { code, message, data } }
}

/** The `error` field of a message that is JSON. Undefined for other messages. */
function providerError(message: string): unknown {
  try {
    const value: unknown = JSON.parse(message)
    return typeof value === 'object' && value !== null && 'error' in value ? value.error : undefined
  } catch {
    return undefined
  }
}

function messageIn(data: unknown): string | undefined {
  if (typeof data === 'string') return data
  if (typeof data !== 'object' || data === null) return undefined
  for (const value of [
    'message' in data && data.message,
    'details' in data && data.details,
    'error' in data && data.error,
  ])
    if (typeof value === 'string' && value !== '') return value
  return undefined
}
