import type { IncomingMessage } from 'node:http'
import { type Fields, fieldsOf } from '../fields.ts'

/** Resolves with the whole body of a request. Rejects if the connection breaks before its end. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Returns the value of a JSON text. Undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Whether any text in a JSON value has half of a surrogate pair, which can't be encoded in UTF-8. Doesn't look at
 * names of fields, nor into files.
 */
export function hasHalfPair(value: unknown): boolean {
  if (typeof value === 'string') return /\p{Surrogate}/u.test(value)
  if (typeof value !== 'object' || value === null || isFile(value)) return false
  return Object.values(value).some(hasHalfPair)
}

/** A file's name and content. */
export interface NamedFile {
  readonly name: string
  readonly bytes: Uint8Array
}

/** Whether a field of a form is an uploaded file. JSON has no such values. */
export function isFile(value: unknown): value is NamedFile {
  return fieldsOf(value).bytes instanceof Uint8Array
}

/** The uploaded files of a form, in order. */
export function filesIn(form: Fields): readonly NamedFile[] {
  return Object.values(form).filter(isFile)
}

/**
 * Returns the fields of a form: a text each, or a `NamedFile`. The last of several with the same name counts.
 * Undefined if the request is not a form. Accepts unquoted names, as grammY writes them.
 */
export function readForm(body: Buffer, { headers }: IncomingMessage): Fields | undefined {
  const type = headers['content-type'] ?? ''
  if (/^application\/x-www-form-urlencoded/i.test(type))
    return Object.fromEntries(new URLSearchParams(body.toString('utf8')))
  const boundary = /^multipart\/form-data;.*boundary="?([^";]+)/i.exec(type)?.[1]
  return boundary === undefined ? undefined : Object.fromEntries(splitParts(body, boundary).flatMap(readPart))
}

/**
 * Returns the name and value of a part. The name is empty if it has none. Returns an empty list if its headers don't
 * end.
 */
function readPart(part: Buffer): readonly (readonly [string, string | NamedFile])[] {
  const end = part.indexOf('\r\n\r\n')
  if (end === -1) return []
  const headers = part.subarray(0, end).toString('utf8')
  const bytes = part.subarray(end + 4)
  const name = parameterIn(headers, 'name') ?? ''
  const fileName = parameterIn(headers, 'filename')
  return [[name, fileName === undefined ? bytes.toString('utf8') : { name: fileName, bytes: new Uint8Array(bytes) }]]
}

/** Returns the parts of a `multipart/form-data` body, headers included, without one that doesn't end. */
function splitParts(body: Buffer, boundary: string): readonly Buffer[] {
  const parts: Buffer[] = []
  const first = `--${boundary}\r\n`
  const next = `\r\n--${boundary}`
  let start = body.indexOf(first)
  if (start === -1) return parts
  start += first.length
  for (let end = body.indexOf(next, start); end !== -1; end = body.indexOf(next, start)) {
    parts.push(body.subarray(start, end))
    start = end + next.length + 2
  }
  return parts
}

/** The value of a header's parameter, for example of `filename`. Undefined if absent. */
function parameterIn(headers: string, name: string): string | undefined {
  const match = new RegExp(`[;\\s]${name}=(?:"([^"]*)"|([^;\\r\\n]*))`, 'i').exec(headers)
  return match?.[1] ?? match?.[2]
}

// Forms have only texts, so a number, a flag, a list or an object counts in its text form too.

/** A text, or the digits of a number. Undefined if empty or anything else. */
export function textIn(fields: Fields, name: string): string | undefined {
  const value = fields[name]
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A number as it is, or the integer that a text has. Undefined for anything else. */
export function numberIn(fields: Fields, name: string): number | undefined {
  const value = fields[name]
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : undefined
}

/** Whether a field is true, 1, or one of these as text in any case. */
export function flagIn(fields: Fields, name: string): boolean {
  const value = fields[name]
  return value === true || value === 1 || (typeof value === 'string' && /^(?:true|1)$/i.test(value))
}

/** A list, or the list in a JSON text. Undefined for anything else. */
export function listIn(fields: Fields, name: string): readonly unknown[] | undefined {
  const value = jsonIn(fields, name)
  return Array.isArray(value) ? value : undefined
}

/** An object, or the object in a JSON text. Undefined for anything else. */
export function objectIn(fields: Fields, name: string): Fields | undefined {
  const value = jsonIn(fields, name)
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? fieldsOf(value) : undefined
}

/** The value of a field, parsed if it is a text. Undefined if absent, or a text that isn't JSON. */
export function jsonIn(fields: Fields, name: string): unknown {
  const value = fields[name]
  return typeof value === 'string' ? parseJson(value) : value
}

/** A list as it is. Empty for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
