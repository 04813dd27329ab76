import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { quotable } from '@reply/sink/channel'
import { oneLine } from '@reply/sink/internal'
import { messageOf } from '../error.ts'
import type { NotUnderstood, Transcription } from './transcriber.ts'

/** The path of the call, below the service's address. https://platform.openai.com/docs/api-reference/audio/createTranscription */
const callPath = '/audio/transcriptions'

/**
 * Sends an audio file to a service with OpenAI's `/audio/transcriptions`. Resolves with the text as the service returns it, or
 * with a failure. Rejects if the signal aborts, or if the file can't be read. Follows no redirects, which could lead the key to
 * another host.
 */
export async function postAudio(call: {
  /** With or without the path of the call. */
  readonly url: string
  /** Default: the request has no `authorization`. */
  readonly key: string | undefined
  readonly model: string
  /** The path of the file. Services tell the kind of audio by its ending. */
  readonly file: string
  /** The most bytes of a response. */
  readonly maxBytes: number
  readonly signal: AbortSignal
}): Promise<Transcription> {
  const { url, key, model, file, maxBytes, signal } = call
  const body = new FormData()
  body.set('model', model)
  body.set('response_format', 'json')
  body.set('file', new Blob([await readFile(file)]), basename(file))
  let status: number
  let text: string | undefined
  try {
    const response = await fetch(addressOf(url), {
      method: 'POST',
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      redirect: 'manual',
      body,
      signal,
    })
    status = response.status
    text = await readText(response, maxBytes)
  } catch (error) {
    signal.throwIfAborted()
    const { cause } = error instanceof Error ? error : {}
    return { type: 'failed', why: 'busy', detail: `The service can't be reached: ${messageOf(cause ?? error)}` }
  }
  if (text === undefined) return { type: 'failed', why: 'too-much' }
  const fields = fieldsOf(text)
  if (status === 200)
    return typeof fields.text === 'string'
      ? { type: 'understood', text: fields.text }
      : { type: 'failed', why: 'failed', detail: "The service's response has no text." }
  const reason = messageIn(fields.error) ?? messageIn(fields) ?? ''
  const detail = `The service answered ${status}. ${oneLine(quotable(reason), 300)}`.trimEnd()
  return { type: 'failed', why: whyOf(status), detail }
}

/** Returns the address of the call: the service's address, with the path of the call unless it has it. */
function addressOf(url: string): URL {
  const address = new URL(url)
  const path = address.pathname.replace(/\/+$/, '')
  address.pathname = path.endsWith(callPath) ? path : `${path}${callPath}`
  return address
}

/** Returns what a status of a refusal means. */
function whyOf(status: number): NotUnderstood {
  if (status === 401 || status === 403) return 'shut-out'
  if (status === 408 || status === 429 || status >= 500) return 'busy'
  // The service can't read the audio, or finds it too large.
  return status === 400 || status === 413 || status === 415 || status === 422 ? 'unreadable' : 'failed'
}

/** Reads a body. Undefined, and the rest is not read, if it is larger than `maxBytes`. */
async function readText(response: Response, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    // Leaving the loop cancels the response.
    if (length > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Returns the fields of a JSON object. Empty for anything else. */
function fieldsOf(text: string): { readonly text?: unknown; readonly error?: unknown; readonly message?: unknown } {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

/** Returns the message of an error. A text is its own message. Undefined for anything else. */
function messageIn(error: unknown): string | undefined {
  if (typeof error === 'string') return error
  if (typeof error !== 'object' || error === null || !('message' in error)) return undefined
  return typeof error.message === 'string' ? error.message : undefined
}
