import type { IncomingMessage } from 'node:http'
import { fieldsOf } from '../recorded/frames.ts'
import { readMultipart } from '../telegram/multipart.ts'
import { Refusal } from './refusal.ts'

/** The payload of a call: in a form, lists and objects are JSON. */
export type Payload = Readonly<Record<string, unknown>>

export async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

export async function readPayload(request: IncomingMessage): Promise<Payload> {
  const body = await bytesOf(request)
  const type = request.headers['content-type'] ?? ''
  if (/^application\/x-www-form-urlencoded/i.test(type)) {
    return Object.fromEntries(new URLSearchParams(body.toString('utf8')))
  }
  if (/^application\/json/i.test(type)) return fieldsOf(parsed(body.toString('utf8')))
  if (body.length === 0) return {}
  throw new Refusal('invalid_post_type')
}

/** The bytes of the single file in a form, or of the body itself. */
export async function readFileBytes(request: IncomingMessage): Promise<Uint8Array> {
  const body = await bytesOf(request)
  const boundary = /^multipart\/form-data;.*boundary="?([^";]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
  if (boundary === undefined) return new Uint8Array(body)
  const [file] = readMultipart(body, boundary).files.values()
  return file?.bytes ?? new Uint8Array()
}

export function textIn(payload: Payload, name: string): string | undefined {
  const value = payload[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function required(payload: Payload, name: string): string {
  const value = textIn(payload, name)
  if (value === undefined) throw new Refusal('invalid_arguments', `[ERROR] missing required field: ${name}`)
  return value
}

export function isOn(payload: Payload, name: string): boolean {
  return payload[name] === true || payload[name] === 'true' || payload[name] === '1'
}

/** A list, or its JSON; undefined if absent. Anything else is refused. */
export function listIn(payload: Payload, name: string, error: string): readonly unknown[] | undefined {
  const value = payload[name]
  if (value === undefined || value === '') return undefined
  const list = typeof value === 'string' ? parsed(value) : value
  if (!Array.isArray(list)) throw new Refusal(error)
  return list
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
