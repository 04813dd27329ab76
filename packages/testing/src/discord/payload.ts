import type { IncomingMessage } from 'node:http'
import { type Fields, fieldsOf } from '../fields.ts'
import { hasHalfPair, parseJson, readBody, readForm } from '../platform/body.ts'
import type { StoredFile } from './channel.ts'
import { Refusal } from './refusal.ts'

/** The payload of a call: JSON, or a form with JSON and files. */
export interface Payload {
  readonly fields: Fields
  readonly files: readonly StoredFile[]
}

export const noPayload: Payload = { fields: {}, files: [] }

export async function readPayload(request: IncomingMessage): Promise<Payload> {
  const body = await readBody(request)
  const form = readForm(body, request)
  const fields = fieldsIn(form ? (form.fields.payload_json ?? '') : body.toString('utf8'))
  // https://github.com/discord/discord-api-docs/issues/6561, about a custom_id.
  if (hasHalfPair(fields)) throw new Refusal(500, 0, '500: Internal Server Error')
  return { fields, files: [...(form?.files.values() ?? [])] }
}

/** A JSON body of any kind. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  return JSON.parse((await readBody(request)).toString('utf8'))
}

function fieldsIn(text: string): Fields {
  if (text === '') return {}
  const value = parseJson(text)
  if (value === undefined) throw new Refusal(400, 50109, 'The request body contains invalid JSON.')
  return fieldsOf(value)
}

export function textIn({ fields }: Payload, name: string): string | undefined {
  const value = fields[name]
  return typeof value === 'string' ? value : undefined
}

export function numberIn({ fields }: Payload, name: string): number | undefined {
  const value = fields[name]
  return typeof value === 'number' ? value : undefined
}

export function listIn(fields: Fields, name: string): readonly unknown[] {
  const value = fields[name]
  return Array.isArray(value) ? value : []
}
