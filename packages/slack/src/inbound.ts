import type { Inbound } from '@reply/sink'
import { type Form, jsonOf, utf8Of } from '@reply/sink/channel'
import * as z from 'zod'
import type { FormState } from './form.ts'
import { readAction } from './inbound/action.ts'
import { readEvent } from './inbound/event.ts'

type Press = Omit<Extract<Inbound, { type: 'press' }>, 'answer'>

/** A parsed event, without the `answer` function yet. */
export type Received =
  | (Omit<Extract<Inbound, { type: 'text' }>, 'answer'> & {
      /** True if it mentions the bot or is a direct message. */
      readonly isAddressed: boolean
      /** The author's workspace. */
      readonly teamId: string | undefined
    })
  | Press
  /** The button of a form was pressed, to open its dialog. */
  | (Omit<Press, 'type'> & { readonly type: 'open'; readonly form: Form | undefined; readonly trigger: string })
  | (Omit<Press, 'type'> & { readonly type: 'filled'; readonly form: Form | undefined; readonly state: FormState })
  | Extract<Inbound, { type: 'stop' }>

export interface Read {
  /** The same for redeliveries, and for the several events of one message. */
  readonly id: string
  /** Undefined for events that a channel ignores: joins, other bots, other apps' buttons. */
  readonly received: Received | undefined
}

/** Reads an event's body or an interaction's payload. Returns undefined for anything else. */
export function readBody(body: unknown): Read | undefined {
  const { type } = z.object({ type: z.string() }).safeParse(body).data ?? {}
  return type === 'event_callback' ? readEvent(body) : readAction(body)
}

/** A request's content: the challenge of a URL verification, or an event or interaction. */
export type RequestBody = { readonly challenge: string } | { readonly body: unknown }

const challenge = z.object({ type: z.literal('url_verification'), challenge: z.string() })

/** Events come as JSON, interactions as JSON in a form field. Returns undefined for anything else. */
export function readRequest(bytes: Uint8Array): RequestBody | undefined {
  const text = utf8Of(bytes) ?? ''
  const body = jsonOf(text.startsWith('payload=') ? (new URLSearchParams(text).get('payload') ?? '') : text)
  if (typeof body !== 'object' || body === null) return undefined
  const { data } = challenge.safeParse(body)
  return data ? { challenge: data.challenge } : { body }
}
