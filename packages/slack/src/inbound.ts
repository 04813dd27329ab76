import type { Inbound } from '@reply/sink'
import type { Form } from '@reply/sink/channel'
import { jsonOf, utf8Of } from '@reply/sink/internal'
import * as z from 'zod'
import type { FormState } from './form.ts'
import { readAction } from './inbound/action.ts'
import { isCommand, readCommand } from './inbound/command.ts'
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
  /** Undefined for events that a channel ignores: joins, other bots, the host's own dialogs and commands. */
  readonly received: Received | undefined
}

const typed = z.object({ type: z.string() })
const ofApp = z.object({ api_app_id: z.string() })

/** Reads an event's body, an interaction's payload or an own slash command. Returns undefined for anything else. */
export function readBody(body: unknown, isOwnCommand: (name: string) => boolean = () => false): Read | undefined {
  if (isCommand(body)) return readCommand(body, isOwnCommand)
  const { type } = typed.safeParse(body).data ?? {}
  return type === 'event_callback' ? readEvent(body) : readAction(body)
}

/** The id of the app that a body is for; empty if it has none. */
export function appOf(body: unknown): string {
  return ofApp.safeParse(body).data?.api_app_id ?? ''
}

/** A request's content: the challenge of a URL verification, a check of the certificate, or what a person did. */
export type RequestBody =
  | { readonly type: 'challenge'; readonly challenge: string }
  | { readonly type: 'check' }
  | { readonly type: 'body'; readonly body: unknown }

const challenge = z.object({ type: z.literal('url_verification'), challenge: z.string() })

/**
 * Events come as JSON, interactions as JSON in a form field, slash commands as a form. Returns undefined for anything
 * else.
 */
export function readRequest(bytes: Uint8Array): RequestBody | undefined {
  const text = utf8Of(bytes) ?? ''
  const form = new URLSearchParams(/^\s*[[{]/.test(text) ? '' : text)
  if (isCheck(form)) return { type: 'check' }
  const command = Object.fromEntries(form)
  if (isCommand(command)) return { type: 'body', body: command }
  const body = jsonOf(form.get('payload') ?? text)
  if (typeof body !== 'object' || body === null) return undefined
  const { data } = challenge.safeParse(body)
  return data ? { type: 'challenge', challenge: data.challenge } : { type: 'body', body }
}

/**
 * Slack checks the certificate of a command's URL by a POST without a person's act, which only wants a 200.
 * https://docs.slack.dev/interactivity/implementing-slash-commands
 */
function isCheck(form: URLSearchParams): boolean {
  return form.get('ssl_check') === '1' && !form.has('command') && !form.has('payload')
}
