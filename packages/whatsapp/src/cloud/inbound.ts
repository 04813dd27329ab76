import type { Actor, Inbound, InboundFile } from '@reply/sink'
import { isAskToken } from '@reply/sink/channel'
import { jsonOf, textOfContact, textOfPlace } from '@reply/sink/internal'
import * as z from 'zod'
import { albumGapMs, albumSpreadMs, fileDefaults } from '../limits.ts'
import type { CloudStatus } from './reports.ts'

/** A parsed message, without the `answer` function yet. A press is a message as well: `ownId` is its id. */
export type CloudReceived =
  | Omit<Extract<Inbound, { type: 'text' }>, 'answer'>
  | (Omit<Extract<Inbound, { type: 'press' }>, 'answer'> & { readonly ownId: string })

/** One event in a webhook request. */
export type CloudEvent =
  /** `received` is undefined for messages that a channel ignores, for example reactions and those of groups. */
  | {
      readonly type: 'message'
      readonly id: string
      readonly at: number
      /** Ids of the person who wrote it in their own chat: the number, the business-scoped id, or both. Empty in groups. */
      readonly people: readonly string[]
      readonly received: CloudReceived | undefined
    }
  /** The status of a message that was posted. */
  | { readonly type: 'status'; readonly status: CloudStatus }
  /** An error that isn't about one message. */
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
  /** https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/unsupported */
  unsupported: z.object({ type: z.string() }).optional().catch(undefined),
  /** https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/location */
  location: z
    .object({
      latitude: z.number(),
      longitude: z.number(),
      name: z.string().optional(),
      address: z.string().optional(),
    })
    .optional()
    .catch(undefined),
  /** https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/contacts */
  contacts: z
    .array(
      z.object({
        name: z.object({ formatted_name: z.string() }),
        phones: z.array(z.object({ phone: z.string().optional() })).optional(),
      }),
    )
    .optional()
    .catch(undefined),
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

/**
 * Returns the events of the number with this id, without those of other numbers. Undefined if the body isn't a WhatsApp
 * webhook.
 */
export function parseWebhook(body: Uint8Array, phoneNumberId: string): readonly CloudEvent[] | undefined {
  const { data } = schema.safeParse(jsonOf(body))
  return data?.entry.flatMap(({ changes }) =>
    changes.flatMap(({ field, value }): readonly CloudEvent[] => {
      if (field !== 'messages') return []
      const { data } = change.safeParse(value)
      if (!data) return [{ type: 'malformed' }]
      return data.metadata.phone_number_id === phoneNumberId ? eventsIn(data) : []
    }),
  )
}

/**
 * Returns messages, then statuses, then errors. Unreadable ones become `malformed`, and statuses like `deleted` are skipped.
 */
function eventsIn({ messages, statuses, errors, contacts }: z.infer<typeof change>): readonly CloudEvent[] {
  return [
    ...messages.map((value): CloudEvent => {
      const { data } = message.safeParse(value)
      if (!data) return { type: 'malformed' }
      const { id, from, from_user_id, group_id, timestamp } = data
      const people = group_id === undefined ? [from, from_user_id].filter((person) => person !== undefined) : []
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
        errors: [error] = [],
      } = data
      // Others don't tell whether the message was posted.
      if (!/^(?:sent|delivered|read|played|failed)$/.test(data.status)) return []
      const ref = { id, postedAt: timestamp && timestamp * 1000 }
      const people = [recipient_id, recipient_user_id].filter((person) => person !== undefined)
      const failure = data.status === 'failed' ? failureOf(error ?? { code: -1 }) : undefined
      const isSentOnly = data.status === 'sent' && { isSentOnly: true as const }
      return [{ type: 'status', status: { ref, key, people, failure, ...isSentOnly } }]
    }),
    ...errors.map((error): CloudEvent => ({ type: 'failed', ...failureOf(error) })),
  ]
}

/** Returns the error's code, and its texts without repetitions. */
function failureOf({ code, title, message, error_data }: z.infer<typeof failure>): {
  readonly code: number
  readonly text: string
} {
  const texts = new Set([title, message, error_data?.details].filter((text) => text !== undefined && text !== ''))
  return { code, text: [...texts].join('. ') || 'no reason given' }
}

/**
 * Returns what a message brings: a press of a button or a row, which is foreign unless it is an ask's, or else a text with
 * files. Undefined for messages that a channel ignores: those of groups, and those without text, button and file.
 */
function receivedIn(
  data: z.infer<typeof message>,
  contacts: readonly z.infer<typeof contact>[],
): CloudReceived | undefined {
  const person = data.from ?? data.from_user_id
  if (person === undefined || data.group_id !== undefined) return undefined
  const { id, context, interactive, button } = data
  const chat = { id: person, kind: 'private' } as const
  const actor = actorOf(person, contacts)
  const token = (interactive?.button_reply ?? interactive?.list_reply)?.id ?? button?.payload
  if (token !== undefined) {
    // A press also shows as the person's message in the chat.
    const press = { type: 'press', chat, actor, token, messageRef: { id: context?.id ?? id }, ownId: id } as const
    return { ...press, isMessage: true, ...(!isAskToken(token) && { isForeign: true }) }
  }
  const files = filesIn(data)
  const written = data.text?.body ?? (data.image ?? data.video ?? data.document)?.caption ?? button?.text
  const text = written ?? (files.length > 0 ? '' : sharedIn(data))
  if (text === undefined) return undefined
  // Only the person and the bot write in this chat.
  const repliesToBot = context?.id !== undefined && context.from !== undefined && context.from !== person
  const isForwarded = context?.forwarded || context?.frequently_forwarded
  return {
    type: 'text',
    chat,
    actor,
    text,
    messageRef: { id, postedAt: data.timestamp * 1000 },
    ...(context?.id !== undefined && { replyTo: { id: context.id } }),
    ...(repliesToBot && { repliesToBot }),
    ...(isForwarded && { isForwarded }),
    ...(files.length > 0 && { files }),
    ...((data.image ?? data.video ?? data.document) && { albumID: sentTogether, albumSpreadMs, albumGapMs }),
    isCommand: /^\/\w/.test(text),
  }
}

/** Returns what a message without text and file shares, as a text. Undefined if it shares nothing. */
function sharedIn({ location, contacts }: z.infer<typeof message>): string | undefined {
  if (location) return textOfPlace(location)
  return contacts
    ?.map(({ name, phones = [] }) =>
      textOfContact(
        name.formatted_name,
        phones.flatMap(({ phone }) => phone ?? []),
      ),
    )
    .join('\n')
}

/**
 * The album of pictures, videos and documents. Webhooks deliver those that were sent together one by one, and don't tell that they
 * were: https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/image
 */
const sentTogether = 'sent-together'

/** The `ref` of a file that the Cloud API doesn't provide. It stays in the message, so that the person is told. */
export const withheldRef = 'withheld'

/** The types of unsupported messages that are files. */
const unsupportedFiles: ReadonlyMap<string | undefined, Pick<InboundFile, 'name' | 'mime'>> = new Map([
  ['image', fileDefaults.image],
  ['gif', { name: 'animation.gif', mime: 'image/gif' }],
  ['media_placeholder', fileDefaults.document],
])

/** Returns the files of a message. The name and the media type have defaults by the kind of file. */
function filesIn(data: z.infer<typeof message>): readonly InboundFile[] {
  const unsupported = unsupportedFiles.get(data.unsupported?.type)
  if (unsupported) return [{ ref: withheldRef, ...unsupported }]
  return Object.entries(fileDefaults).flatMap(([kind, { name, mime }]) => {
    const file = data[kind as keyof typeof fileDefaults]
    if (!file) return []
    return [{ ref: file.id ?? withheldRef, name: file.filename || name, mime: file.mime_type || mime }]
  })
}

/** Returns the person, with the name from their profile, or with the id for a name. */
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

/**
 * Reads the `wamid` of a posted message. `id` is undefined for calls that post none, for example typing. Returns undefined
 * for any other response.
 */
export function toPosted(value: unknown): { readonly id: string | undefined } | undefined {
  const message = posted.safeParse(value).data
  if (message) return { id: message.messages[0]?.id }
  return done.safeParse(value).success ? { id: undefined } : undefined
}

/** Reads the id of an uploaded file. Returns undefined for any other response. */
export function toMediaId(value: unknown): string | undefined {
  return uploaded.safeParse(value).data?.id
}

/** Reads the address and the size of a file. https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media */
export function toMediaPlace(value: unknown): z.infer<typeof mediaPlace> | undefined {
  return mediaPlace.safeParse(value).data
}

/** Reads the number as people see it. Returns undefined for any other response. */
export function toDisplayNumber(value: unknown): string | undefined {
  return number.safeParse(value).data?.display_phone_number
}

/** Reads one of Meta's errors. Returns undefined for any other response. */
export function toRefusal(value: unknown): CloudRefusal | undefined {
  const { data } = refusal.safeParse(value)
  return data && { message: data.error.message, code: data.error.code, details: data.error.error_data?.details }
}

const factStatus = z.object({
  ref: z.object({ id: z.string(), postedAt: z.number().optional() }),
  key: z.string().optional(),
  people: z.readonly(z.array(z.string())),
  failure: z.object({ code: z.number(), text: z.string() }).optional(),
  isSentOnly: z.literal(true).optional(),
})

const fact = z.discriminatedUnion('type', [
  z.object({ type: z.literal('status'), status: factStatus }),
  z.object({
    type: z.literal('wrote'),
    people: z.readonly(z.array(z.string())),
    at: z.number(),
    /** The message's id, if it is a text. */
    textID: z.string().optional(),
  }),
])

/** What a webhook tells of a number's chats: the status of a post, or when a person wrote. Processes share it as JSON. */
export type CloudFact = z.infer<typeof fact>

/** Reads a fact of another process. Undefined for anything else. */
export function toCloudFact(value: unknown): CloudFact | undefined {
  return fact.safeParse(value).data
}
