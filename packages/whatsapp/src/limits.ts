import type { FileLimits, Limits } from '@reply/sink/channel'

/**
 * Bytes of a webhook's request: "Webhooks payloads can be up to 3 MB".
 * https://developers.facebook.com/docs/whatsapp/cloud-api/guides/set-up-webhooks
 */
export const maxWebhookBytes = 3_145_728

/**
 * UTF-16 units of a text. https://developers.facebook.com/docs/whatsapp/cloud-api/messages/text-messages
 * A linked device may write 65,536, but the apps collapse texts longer than this.
 */
export const textLength = 4096

/**
 * UTF-16 units of the body above reply buttons.
 * https://developers.facebook.com/docs/whatsapp/cloud-api/messages/interactive-reply-buttons-messages
 */
export const buttonsBodyLength = 1024

/**
 * UTF-16 units of the body above a list, from the Cloud API's OpenAPI description. The documentation states 4,096:
 * https://developers.facebook.com/docs/whatsapp/cloud-api/messages/interactive-list-messages
 */
export const listBodyLength = 1024

/**
 * The most reply buttons, and UTF-16 units of their titles.
 * https://developers.facebook.com/docs/whatsapp/cloud-api/messages/interactive-reply-buttons-messages
 */
export const replyButtons = { most: 3, title: 20 } as const

/**
 * The most rows of a list, and UTF-16 units of their titles and descriptions, and of the list's button.
 * https://developers.facebook.com/docs/whatsapp/cloud-api/messages/interactive-list-messages
 */
export const listRows = { most: 10, title: 24, description: 72, button: 20 } as const

/**
 * UTF-16 units of a document's caption.
 * https://developers.facebook.com/docs/whatsapp/cloud-api/messages/document-messages
 */
export const captionLength = 1024

/**
 * Bytes of a file on the Cloud API: 100 MB for a document, and 5 MB for a picture, which must be a JPEG or PNG. Larger pictures
 * can't be sent as documents. The limit here is this package's own, because a file is kept in memory while it is sent.
 * https://developers.facebook.com/docs/whatsapp/cloud-api/reference/media#supported-media-types
 */
export const fileLimits: FileLimits = { maxBytes: 50_000_000 }

/** The types and the most bytes of a picture. Same page. */
export const pictureLimits = { types: new Set<string>(['image/jpeg', 'image/png']), maxBytes: 5_000_000 } as const

/**
 * The media types that the Cloud API takes as documents. Same page. It refuses all others, so that a file of an unknown type can't
 * be sent.
 */
export const documentTypes: ReadonlySet<string> = new Set([
  'text/plain',
  'application/pdf',
  'application/msword',
  'application/vnd.ms-excel',
  'application/vnd.ms-powerpoint',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
])

/**
 * Limits of the Cloud API: one message of any kind in 6 s to the same person, and 80 a second from one number
 * (https://developers.facebook.com/docs/whatsapp/cloud-api/overview, under throughput and pair rate limits).
 * WhatsApp allows bursts of up to 45 and then blocks the number for as long, so the pacer avoids them.
 */
export const cloudLimits: Limits = {
  maxLength: textLength,
  // Literal marks and mentions get an invisible character, which disables them.
  escapable: /[*_~`>@]+/g,
  // The Cloud API can neither edit nor delete messages.
  edits: false,
  editIntervalMs: 6000,
  perChat: { calls: 1, perMs: 6000 },
  perClient: { calls: 60, perMs: 1000 },
  // "Dismissed once you respond, or after 25 seconds".
  // https://developers.facebook.com/docs/whatsapp/cloud-api/typing-indicators
  typingMs: 25_000,
  // A long label goes into a row's description. Ids: 256 units on buttons, 200 on rows.
  buttons: { perRow: 1, rows: listRows.most, label: listRows.description, data: 200, maxLength: buttonsBodyLength },
  // The messages endpoint has no silent option.
  silent: false,
  files: fileLimits,
  // Messages take no idempotency key.
  idempotent: false,
}

/**
 * How long after posting a message can be edited, in ms. The apps ignore edits after 15 minutes. This is 30 s less, because
 * clocks differ.
 * https://faq.whatsapp.com/1137632640264105
 */
export const editWindowMs = 870_000

/**
 * Limits of a linked device. WhatsApp documents none, and bans numbers that write like a machine. Users report one call
 * in 3 s to a chat as safe.
 */
export const baileysLimits: Limits = {
  maxLength: textLength,
  // Literal marks and mentions get an invisible character, which disables them.
  escapable: /[*_~`>@]+/g,
  edits: true,
  editWindowMs,
  editIntervalMs: 3000,
  perChat: { calls: 1, perMs: 3000 },
  // One a second in all chats together: a number that writes to more people at once looks like a machine. No source.
  perClient: { calls: 12, perMs: 12_000 },
  // The apps show the notice for about 10 s after the last update, and end it with the next message:
  // https://github.com/adiwajshing/Baileys/issues/49
  typingMs: 10_000,
  // The apps don't show buttons posted by linked devices.
  buttons: undefined,
  silent: false,
  files: fileLimits,
  // The message id is derived from the post's key.
  idempotent: true,
}

/** The name and the media type of a file whose message has none, by its kind. */
export const fileDefaults = {
  document: { name: 'file', mime: 'application/octet-stream' },
  image: { name: 'photo.jpg', mime: 'image/jpeg' },
  video: { name: 'video.mp4', mime: 'video/mp4' },
  audio: { name: 'audio.ogg', mime: 'audio/ogg' },
  sticker: { name: 'sticker.webp', mime: 'image/webp' },
} as const

/**
 * How long a picture, video or document waits for the next one, in ms, where nothing tells how many there are. Each arrives once the
 * phone has uploaded it, so a second or more apart: https://github.com/NousResearch/hermes-agent/issues/62068. Services that put them
 * together wait 5 s: https://docs.kapso.ai/docs/platform/webhooks/advanced
 */
export const albumGapMs = 4000

/** How far apart files are sent at most, in ms, that count as one album where nothing tells which do. They are uploaded one by one. */
export const albumSpreadMs = 60_000

/**
 * How long an announced album waits for the next of its messages that did not arrive yet, in ms. No source: a slow upload of a picture.
 */
export const announcedGapMs = 30_000
