import type { IncomingMessage } from 'node:http'
import { type Fields, fieldsOf } from '../fields.ts'
import { parseJson, readBody, readForm } from '../platform/body.ts'
import { Refusal } from './refusal.ts'

/** The payload of a call: in a form, lists and objects are JSON. */
export type Payload = Fields

export async function readPayload(request: IncomingMessage): Promise<Payload> {
  const body = await readBody(request)
  const type = request.headers['content-type'] ?? ''
  const text = body.toString('utf8')
  if (/^application\/x-www-form-urlencoded/i.test(type)) return Object.fromEntries(new URLSearchParams(text))
  if (/^application\/json/i.test(type)) return fieldsOf(parseJson(text))
  if (body.length === 0) return {}
  throw new Refusal('invalid_post_type')
}

/** The bytes of the single file in a form, or of the body itself. */
export async function readFileBytes(request: IncomingMessage): Promise<Uint8Array> {
  const body = await readBody(request)
  const form = readForm(body, request)
  if (form === undefined) return new Uint8Array(body)
  const [file] = form.files.values()
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

/** A list, or its JSON. Undefined if absent. Anything else is refused. */
export function listIn(payload: Payload, name: string, error: string): readonly unknown[] | undefined {
  const value = payload[name]
  if (value === undefined || value === '') return undefined
  const list = typeof value === 'string' ? parseJson(value) : value
  if (!Array.isArray(list)) throw new Refusal(error)
  return list
}
