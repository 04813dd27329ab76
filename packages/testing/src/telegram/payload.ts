import type { IncomingMessage } from 'node:http'
import { type Fields, fieldsOf } from '../fields.ts'
import { hasHalfPair, parseJson, readBody, readForm, type Upload } from '../platform/body.ts'
import { badRequest } from './refusal.ts'

/** The payload of a call. Numbers, flags and objects have their type in JSON and are text in a form. */
export interface Payload {
  readonly fields: Readonly<Record<string, unknown>>
  readonly files: ReadonlyMap<string, Upload>
}

const none: ReadonlyMap<string, Upload> = new Map()

export async function readPayload(request: IncomingMessage): Promise<Payload> {
  const body = await readBody(request)
  const query = new URL(request.url ?? '/', 'http://loopback').searchParams
  const { fields, files } = readForm(body, request) ?? { fields: fieldsIn(body, request), files: none }
  const all = { ...Object.fromEntries(query), ...fields }
  if (hasHalfPair(all)) throw badRequest('strings must be encoded in UTF-8')
  return { fields: all, files }
}

function fieldsIn(body: Buffer, { headers }: IncomingMessage): Fields {
  const text = body.toString('utf8')
  if (/^application\/x-www-form-urlencoded/i.test(headers['content-type'] ?? ''))
    return Object.fromEntries(new URLSearchParams(text))
  if (text === '') return {}
  const value = parseJson(text)
  if (value === undefined) throw badRequest("can't parse JSON object")
  return fieldsOf(value)
}

export function textIn({ fields }: Payload, name: string): string | undefined {
  const value = fields[name]
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined
}

export function numberIn({ fields }: Payload, name: string): number | undefined {
  return numberOf(fields[name])
}

export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : undefined
}

export function flagIn({ fields }: Payload, name: string): boolean {
  const value = fields[name]
  return value === true || value === 1 || (typeof value === 'string' && /^(true|1)$/i.test(value))
}

/** An object, or its JSON. Undefined if it is neither. */
export function objectIn({ fields }: Payload, name: string): Fields | undefined {
  const value = readValue(fields[name])
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? fieldsOf(value) : undefined
}

/** A list, or its JSON. Undefined if it is neither. */
export function listIn({ fields }: Payload, name: string): readonly unknown[] | undefined {
  const value = readValue(fields[name])
  return Array.isArray(value) ? value : undefined
}

/** Parses a string as JSON, as forms send it. Undefined if it isn't JSON. Returns any other value as it is. */
function readValue(value: unknown): unknown {
  return typeof value === 'string' ? parseJson(value) : value
}
