import type { Limits } from '@reply/sink'

/** UTF-16 units of a text. https://developers.facebook.com/docs/whatsapp/cloud-api/messages/text-messages */
export const textLength = 4096

/** UTF-16 units of the body above reply buttons. https://developers.facebook.com/docs/whatsapp/cloud-api/messages/interactive-reply-buttons-messages */
export const buttonsBodyLength = 1024

/** And above a list. https://developers.facebook.com/docs/whatsapp/cloud-api/messages/interactive-list-messages; older pages say 1,024: then it is said without a list. */
export const listBodyLength = 4096

/** Reply buttons, and UTF-16 units of their titles. https://developers.facebook.com/docs/whatsapp/cloud-api/messages/interactive-reply-buttons-messages */
export const replyButtons = { most: 3, title: 20 } as const

/** Rows of a list in all, UTF-16 units of their titles and descriptions, and of the button that opens it. https://developers.facebook.com/docs/whatsapp/cloud-api/messages/interactive-list-messages */
export const listRows = { most: 10, title: 24, description: 72, button: 20 } as const

/** UTF-16 units below a document. https://developers.facebook.com/docs/whatsapp/cloud-api/messages/document-messages */
export const captionLength = 1024

/**
 * What one person takes. One message in 6 s to the same person, of whatever kind, and 80 a second from one number
 * (https://developers.facebook.com/docs/whatsapp/cloud-api/overview, under throughput and pair rate limits). Bursts of up to 45 are lent, and blocked for afterwards: none are made.
 */
export const cloudLimits: Limits = {
  maxLength: textLength,
  // Signs that are no marks are kept from being some, and names from ringing.
  swells: /[*_~`>@]/g,
  // There is no edit. A message can't be taken back either.
  edits: false,
  editIntervalMs: 6000,
  perChat: { calls: 1, perMs: 6000 },
  perClient: { calls: 60, perMs: 1000 },
  // "Dismissed once you respond, or after 25 seconds". https://developers.facebook.com/docs/whatsapp/cloud-api/typing-indicators
  typingMs: 25_000,
  // A row has a title and a description: a label may take both. Ids: 256 of buttons, 200 of rows.
  buttons: { perRow: 1, rows: listRows.most, label: listRows.description, data: 200, maxLength: buttonsBodyLength },
  // Nothing on the messages endpoint says so.
  silent: false,
  // Messages take no idempotency key.
  idempotent: false,
}
