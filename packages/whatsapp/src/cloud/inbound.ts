import type { Actor, Inbound, InboundFile } from '@reply/sink'
import { isAskToken } from '@reply/sink/channel'
import { jsonOf } from '@reply/sink/internal'
import * as z from 'zod'
import type { CloudStatus } from './api.ts'

/** A parsed message, without the `answer` function yet. `said` is the id of the message that a press itself is. */
export type CloudReceived =
  | Omit<Extract<Inbound, { type: 'text' }>, 'answer'>
  | (Omit<Extract<Inbound, { type: 'press' }>, 'answer'> & { readonly said: string })

/** One event in a webhook request. */
export type CloudEvent =
  /** `received` is undefined for what a channel ignores: pictures without a caption, voice messages, reactions, groups. */
  | {
      readonly type: 'message'
      readonly id: string
      readonly at: number
      /** Ids of the person who wrote it in their own chat: the number, the business-scoped id, or both. Empty in groups. */
      readonly people: readonly string[]
      readonly received: CloudReceived | undefined
    }
  /** What became of a message of ours. */
  | { readonly type: 'status'; readonly status: CloudStatus }
  /** The Cloud API reports an error that no message has. */
  | { readonly type: 'failed'; readonly code: number; readonly text: string }
  | { readonly type: 'malformed' }

const schema = z.object({
  object: z.literal('whatsapp_business_account'),
  entry: z.array(z.object({ changes: z.array(z.object({ field: z.string(), value: z.unknown() })) })),
})

const contact = z.object({
  wa_id: z.string().optional(),
  user_id: z.string().optional(),
  profile: z.object({ name: z.string().optional(), username: z.string().optional() }).optional(),
})

const failure = z.object({
  code: z.number(),
  title: z.string().optional(),
  message: z.string().optional(),
  error_data: z.object({ details: z.string().optional() }).optional(),
})

const change = z.object({
  metadata: z.object({ phone_number_id: z.string() }),
  contacts: z.array(contact).catch([]),
  messages: z.array(z.unknown()).default([]),
  statuses: z.array(z.unknown()).default([]),
  errors: z.array(failure).catch([]),
})

const choice = z.object({ id: z.string(), title: z.string().optional() })
/** https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/document */
const media = z.object({
  caption: z.string().optional(),
  id: z.string().optional(),
  mime_type: z.string().optional(),
  filename: z.string().optional(),
})

const message = z.object({
  id: z.string(),
  /** Absent for people with a username instead of a number. */
  from: z.string().optional(),
  from_user_id: z.string().optional(),
  group_id: z.string().optional(),
  timestamp: z.coerce.number(),
  /** https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/text */
  context: z
    .object({
      id: z.string().optional(),
      /** The number that wrote the message replied to. */
      from: z.string().optional(),
      forwarded: z.boolean().optional(),
      frequently_forwarded: z.boolean().optional(),
    })
    .optional(),
  text: z.object({ body: z.string() }).optional(),
  button: z.object({ payload: z.string().optional(), text: z.string().optional() }).optional(),
  interactive: z.object({ button_reply: choice.optional(), list_reply: choice.optional() }).optional(),
  image: media.optional(),
  video: media.optional(),
  document: media.optional(),
  audio: media.optional(),
  sticker: media.optional(),
})

const status = z.object({
  id: z.string(),
  status: z.string(),
  recipient_id: z.string().optional(),
  recipient_user_id: z.string().optional(),
  timestamp: z.coerce.number().optional().catch(undefined),
  /** https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/status */
  biz_opaque_callback_data: z.string().optional(),
  errors: z.array(failure).optional(),
})

/** Events of that number; skips those of other numbers. Returns undefined if the body isn't a WhatsApp webhook. */
export function parseWebhook(body: Uint8Array, phoneNumberId: string): readonly CloudEvent[] | undefined {
  const { data } = schema.safeParse(jsonOf(body))
  return data?.entry.flatMap(({ changes }) =>
    changes.flatMap(({ field, value }): readonly CloudEvent[] => {
      if (field !== 'messages') return []
      const { data: known } = change.safeParse(value)
      if (!known) return [{ type: 'malformed' }]
      return known.metadata.phone_number_id === phoneNumberId ? eventsIn(known) : []
    }),
  )
}

function eventsIn({ messages, statuses, errors, contacts }: z.infer<typeof change>): readonly CloudEvent[] {
  return [
    ...messages.map((value): CloudEvent => {
      const { data } = message.safeParse(value)
      if (!data) return { type: 'malformed' }
      const { id, from, from_user_id, group_id, timestamp } = data
      const people = group_id === undefined ? [from, from_user_id].filter((one) => one !== undefined) : []
      return { type: 'message', id, at: timestamp * 1000, people, received: receivedIn(data, contacts) }
    }),
    ...statuses.flatMap((value): readonly CloudEvent[] => {
      const { data } = status.safeParse(value)
      if (!data) return [{ type: 'malformed' }]
      const {
        id,
        timestamp,
        recipient_id,
        recipient_user_id,
        biz_opaque_callback_data: key,
        errors: [first] = [],
      } = data
      // Others, such as `deleted`, say nothing of the post.
      if (!/^(?:sent|delivered|read|played|failed)$/.test(data.status)) return []
      const ref = { id, postedAt: timestamp && timestamp * 1000 }
      const people = [recipient_id, recipient_user_id].filter((one) => one !== undefined)
      const failure = data.status === 'failed' ? failureOf(first ?? { code: -1 }) : undefined
      return [{ type: 'status', status: { ref, key, people, failure } }]
    }),
    ...errors.map((error): CloudEvent => ({ type: 'failed', ...failureOf(error) })),
  ]
}

function failureOf({ code, title, message: said, error_data }: z.infer<typeof failure>): {
  readonly code: number
  readonly text: string
} {
  const words = new Set([title, said, error_data?.details].filter((one) => one !== undefined && one !== ''))
  return { code, text: [...words].join('. ') || 'no reason given' }
}

function receivedIn(
  said: z.infer<typeof message>,
  contacts: readonly z.infer<typeof contact>[],
): CloudReceived | undefined {
  const person = said.from ?? said.from_user_id
  if (person === undefined || said.group_id !== undefined) return undefined
  const { id, context, interactive, button } = said
  const chat = { id: person, kind: 'private' } as const
  const actor = actorOf(person, contacts)
  const ref = { id, postedAt: said.timestamp * 1000 }
  const token = (interactive?.button_reply ?? interactive?.list_reply)?.id ?? button?.payload
  if (token !== undefined) {
    // A press also shows as the person's message in the chat.
    const press = { type: 'press', chat, actor, token, messageRef: { id: context?.id ?? id }, said: id } as const
    return { ...press, isMessage: true, ...(!isAskToken(token) && { isForeign: true }) }
  }
  const files = filesIn(said)
  const written = said.text?.body ?? (said.image ?? said.video ?? said.document)?.caption ?? button?.text
  const text = written ?? (files.length > 0 ? '' : undefined)
  if (text === undefined) return undefined
  // The chat has two sides: what the person did not write is the bot's.
  const repliesToBot = context?.from !== undefined && context.from !== person ? { repliesToBot: true as const } : {}
  const replyTo = context?.id === undefined ? {} : { replyTo: { id: context.id }, ...repliesToBot }
  const passedOn = context?.forwarded || context?.frequently_forwarded ? { isForwarded: true as const } : {}
  const more = { ...replyTo, ...passedOn, ...(files.length > 0 && { files }) }
  return { type: 'text', chat, actor, text, messageRef: ref, ...more, isCommand: /^\/\w/.test(text) }
}

/** What a file is called that has no name, and its media type if Meta doesn't say. */
const kinds = {
  document: ['file', 'application/octet-stream'],
  image: ['photo.jpg', 'image/jpeg'],
  video: ['video.mp4', 'video/mp4'],
  audio: ['audio.ogg', 'audio/ogg'],
  sticker: ['sticker.webp', 'image/webp'],
} as const

function filesIn(said: z.infer<typeof message>): readonly InboundFile[] {
  return Object.entries(kinds).flatMap(([kind, [name, mime]]) => {
    const one = said[kind as keyof typeof kinds]
    return one?.id === undefined ? [] : [{ ref: one.id, name: one.filename ?? name, mime: one.mime_type ?? mime }]
  })
}

function actorOf(id: string, contacts: readonly z.infer<typeof contact>[]): Actor {
  const { profile } = contacts.find(({ wa_id, user_id }) => wa_id === id || user_id === id) ?? {}
  return { id, name: profile?.name || profile?.username || id }
}

const posted = z.object({ messages: z.array(z.object({ id: z.string() })).min(1) })
const done = z.object({ success: z.literal(true) })
const uploaded = z.object({ id: z.string() })
const mediaPlace = z.object({ url: z.string(), file_size: z.number().optional() })
const number = z.object({ display_phone_number: z.string() })
const refusal = z.object({
  error: z.object({
    message: z.string().catch(''),
    code: z.number(),
    error_data: z
      .object({ details: z.string().catch('') })
      .optional()
      .catch(undefined),
  }),
})

interface CloudRefusal {
  readonly message: string
  readonly code: number
  readonly details: string | undefined
}

/** A posted message's `wamid`; without an id for calls that only succeed. Returns undefined for any other response. */
export function toPosted(value: unknown): { readonly id: string | undefined } | undefined {
  const message = posted.safeParse(value).data
  if (message) return { id: message.messages[0]?.id }
  return done.safeParse(value).success ? { id: undefined } : undefined
}

export function toMediaId(value: unknown): string | undefined {
  return uploaded.safeParse(value).data?.id
}

/** Where a file is. https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media */
export function toMediaPlace(value: unknown): z.infer<typeof mediaPlace> | undefined {
  return mediaPlace.safeParse(value).data
}

/** The number as people see it. */
export function toNumber(value: unknown): string | undefined {
  return number.safeParse(value).data?.display_phone_number
}

/** Returns undefined if the body isn't a Meta error. */
export function toRefusal(value: unknown): CloudRefusal | undefined {
  const { data } = refusal.safeParse(value)
  return data && { message: data.error.message, code: data.error.code, details: data.error.error_data?.details }
}
