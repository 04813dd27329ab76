import type { IncomingMessage } from 'node:http'
import { hasHalfPair } from '../half-pair.ts'
import { fieldsOf } from '../recorded/frames.ts'
import { readMultipart } from '../telegram/multipart.ts'
import type { StoredFile } from './channel.ts'
import { Refusal } from './refusal.ts'

/** The payload of a call: JSON, or a form with JSON and files. */
export interface Payload {
  readonly fields: Readonly<Record<string, unknown>>
  readonly files: readonly StoredFile[]
}

export const noPayload: Payload = { fields: {}, files: [] }

export async function readPayload(request: IncomingMessage): Promise<Payload> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const type = request.headers['content-type'] ?? ''
  const boundary = /^multipart\/form-data;.*boundary="?([^";]+)/i.exec(type)?.[1]
  const form = boundary === undefined ? undefined : readMultipart(body, boundary)
  const fields = parsed(form ? (form.fields.payload_json ?? '') : body.toString('utf8'))
  // https://github.com/discord/discord-api-docs/issues/6561, about a custom_id.
  if (hasHalfPair(fields)) throw new Refusal(500, 0, '500: Internal Server Error')
  return { fields, files: [...(form?.files.values() ?? [])] }
}

/** A JSON body of any kind. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString('utf8'))
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  if (text === '') return {}
  try {
    return fieldsOf(JSON.parse(text))
  } catch {
    throw new Refusal(400, 50109, 'The request body contains invalid JSON.')
  }
}

export function textIn({ fields }: Payload, name: string): string | undefined {
  const value = fields[name]
  return typeof value === 'string' ? value : undefined
}

export function numberIn({ fields }: Payload, name: string): number | undefined {
  const value = fields[name]
  return typeof value === 'number' ? value : undefined
}

export function listIn(fields: Readonly<Record<string, unknown>>, name: string): readonly unknown[] {
  const value = fields[name]
  return Array.isArray(value) ? value : []
}
