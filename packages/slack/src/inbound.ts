import type { Form, Inbound } from '@reply/sink'
import { z } from 'zod'
import type { FormState } from './form.ts'
import { readAction } from './inbound/action.ts'
import { readEvent } from './inbound/event.ts'
import { readJson } from './inbound/json.ts'

type Press = Omit<Extract<Inbound, { type: 'press' }>, 'answer'>

/** What came, before anybody can answer it. */
export type Heard =
  | (Omit<Extract<Inbound, { type: 'text' }>, 'answer'> & {
      /** To the bot by name, or in a direct message. */
      readonly isAddressed: boolean
      /** The workspace of who wrote it. */
      readonly teamId: string | undefined
    })
  | Press
  /** The button below a form: its dialog is wanted. */
  | (Omit<Press, 'type'> & { readonly type: 'open'; readonly form: Form | undefined; readonly trigger: string })
  | (Omit<Press, 'type'> & { readonly type: 'filled'; readonly form: Form | undefined; readonly state: FormState })
  | Extract<Inbound, { type: 'stop' }>

export interface Read {
  /** The same for each time that it is sent, and for a message of which several events tell. */
  readonly id: string
  /** Undefined for what a channel does not hear: joins, other bots, other people's buttons. */
  readonly heard: Heard | undefined
}

/** The body of an event, or the payload of an interaction. Undefined for what is neither. */
export function readBody(body: unknown): Read | undefined {
  const { type } = z.object({ type: z.string() }).safeParse(body).data ?? {}
  return type === 'event_callback' ? readEvent(body) : readAction(body)
}

/** What a request holds: the challenge when the URL is verified, or what somebody did. */
export type RequestBody = { readonly challenge: string } | { readonly body: unknown }

const challenge = z.object({ type: z.literal('url_verification'), challenge: z.string() })

/** Events come as JSON, interactions as JSON in a form. Undefined for what is neither. */
export function readRequest(bytes: Uint8Array): RequestBody | undefined {
  const text = readUtf8(bytes)
  if (text === undefined) return undefined
  const body = readJson(text.startsWith('payload=') ? (new URLSearchParams(text).get('payload') ?? '') : text)
  if (typeof body !== 'object' || body === null) return undefined
  const { data } = challenge.safeParse(body)
  return data ? { challenge: data.challenge } : { body }
}

function readUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
