import { type Fields, fieldsOf } from '../../fields.ts'
import { listOf } from '../../platform/payload.ts'
import { cloudLimits } from './limits.ts'
import { invalidParameter } from './refusal.ts'

/** A reply button, or a row of a list. */
export interface WhatsAppButton {
  /** The visible label. */
  readonly label: string
  /** A line below the label. Only rows have one. */
  readonly description?: string
  /** The id that the webhook receives when it is picked. */
  readonly data: string
}

/**
 * The visible content of a message. Only Meta knows the text of a `template`, so its name and parameters stand for it.
 */
export type CloudKind = 'text' | 'buttons' | 'list' | 'document' | 'image' | 'template'

/** The visible content of a message. */
export interface CloudContent {
  readonly kind: CloudKind
  readonly source: string
  readonly buttons: readonly WhatsAppButton[]
  /** The media id of a document or picture. Absent for a picture that Meta fetches from an address. */
  readonly mediaId?: string
  readonly fileName?: string
}

/**
 * Returns the content of a message. `listBody` is the longest text above a list. Throws a `CloudRefusal` if the Cloud
 * API doesn't accept it, as all functions below do.
 */
export function readContent(fields: Fields, listBody: number): CloudContent {
  switch (fields.type) {
    case 'text':
      return {
        kind: 'text',
        source: requireText(fieldsOf(fields.text).body, 'text.body', cloudLimits.text),
        buttons: [],
      }
    case 'interactive':
      return readInteractive(fieldsOf(fields.interactive), listBody)
    case 'document':
      return readDocument(fieldsOf(fields.document))
    case 'image':
      return readImage(fieldsOf(fields.image))
    case 'template':
      return readTemplate(fieldsOf(fields.template))
    default:
      throw invalidParameter(`type ${String(fields.type)} is not supported by the fake`)
  }
}

/** Returns reply buttons or a list, with the text above. Throws a `CloudRefusal` for another type or a missing text. */
function readInteractive(interactive: Fields, listBody: number): CloudContent {
  const action = fieldsOf(interactive.action)
  const body = fieldsOf(interactive.body).text
  if (interactive.type === 'button') {
    const source = requireText(body, 'body text', cloudLimits.buttonsBody)
    return { kind: 'buttons', source, buttons: readReplyButtons(action.buttons) }
  }
  if (interactive.type !== 'list') throw invalidParameter(`interactive type ${String(interactive.type)} is unknown`)
  const source = requireText(body, 'body text', listBody)
  requireText(action.button, 'action button', cloudLimits.rows.button)
  const rows = listOf(action.sections).flatMap((section) => listOf(fieldsOf(section).rows))
  return { kind: 'list', source, buttons: readRows(rows) }
}

/** Returns 1 to 3 buttons, with different titles and ids. Throws a `CloudRefusal` for anything else. */
function readReplyButtons(value: unknown): readonly WhatsAppButton[] {
  const { most, title, id } = cloudLimits.buttons
  const buttons = listOf(value).map((one) => {
    const reply = fieldsOf(fieldsOf(one).reply)
    return { label: requireText(reply.title, 'button title', title), data: requireText(reply.id, 'button id', id) }
  })
  if (buttons.length === 0 || buttons.length > most)
    throw invalidParameter(`there are ${buttons.length} buttons; 1 to ${most} are allowed`)
  requireDistinct(
    buttons.map(({ label }) => label),
    'button title',
  )
  requireDistinct(
    buttons.map(({ data }) => data),
    'button id',
  )
  return buttons
}

/** Returns 1 to 10 rows, with different ids. Throws a `CloudRefusal` for anything else. */
function readRows(values: readonly unknown[]): readonly WhatsAppButton[] {
  const { most, title, description, id } = cloudLimits.rows
  const rows = values.map((one) => {
    const row = fieldsOf(one)
    const more =
      row.description === undefined ? {} : { description: requireText(row.description, 'row description', description) }
    return { label: requireText(row.title, 'row title', title), data: requireText(row.id, 'row id', id), ...more }
  })
  if (rows.length === 0 || rows.length > most)
    throw invalidParameter(`there are ${rows.length} rows; 1 to ${most} are allowed`)
  requireDistinct(
    rows.map(({ data }) => data),
    'row id',
  )
  return rows
}

/**
 * Returns a document by its media id. Its caption may be absent. Its name is "Untitled" unless given. Throws a
 * `CloudRefusal` without an id or for a caption that is too long.
 */
function readDocument(document: Fields): CloudContent {
  const source = document.caption === undefined ? '' : requireText(document.caption, 'caption', cloudLimits.caption)
  if (typeof document.id !== 'string') throw invalidParameter('a document needs an id')
  const fileName = typeof document.filename === 'string' ? document.filename : 'Untitled'
  return { kind: 'document', source, buttons: [], mediaId: document.id, fileName }
}

/**
 * Returns a picture by its media id, or one without by its address. Throws a `CloudRefusal` unless it has exactly one.
 * https://developers.facebook.com/docs/whatsapp/cloud-api/messages/image-messages
 */
function readImage({ id, link, caption }: Fields): CloudContent {
  if ((typeof id === 'string') === (typeof link === 'string')) throw invalidParameter('an image needs an id or a link')
  const source = caption === undefined ? '' : requireText(caption, 'caption', cloudLimits.caption)
  return { kind: 'image', source, buttons: [], ...(typeof id === 'string' && { mediaId: id }) }
}

/**
 * Returns a template: its name and its parameters, a line each, and its quick replies. Throws a `CloudRefusal` without
 * a name or a language. https://developers.facebook.com/docs/whatsapp/cloud-api/guides/send-message-templates
 */
function readTemplate({ name, language, components }: Fields): CloudContent {
  if (typeof fieldsOf(language).code !== 'string') throw invalidParameter('template.language.code is required')
  const all = listOf(components).map(fieldsOf)
  const texts = all
    .filter(({ type }) => type !== 'button')
    .flatMap(({ parameters }) => listOf(parameters).map((one) => String(fieldsOf(one).text ?? fieldsOf(one).type)))
  // The labels are part of the template. The call only has the payloads of its quick replies.
  const buttons = all
    .filter(({ type, sub_type }) => type === 'button' && sub_type === 'quick_reply')
    .map(({ parameters }) =>
      requireText(fieldsOf(listOf(parameters)[0]).payload, 'button payload', cloudLimits.buttons.id),
    )
    .map((payload) => ({ label: payload, data: payload }))
  return { kind: 'template', source: [requireText(name, 'template.name', 512), ...texts].join('\n'), buttons }
}

/** Returns the text. Throws a `CloudRefusal` that names it as `what` if it isn't a text, is blank or too long. */
function requireText(value: unknown, what: string, most: number): string {
  if (typeof value !== 'string' || value.trim() === '') throw invalidParameter(`${what} is required`)
  if (value.length > most) throw invalidParameter(`${what} length invalid, max length: ${most}`)
  return value
}

/** Throws a `CloudRefusal` that names them as `what` if two values are the same. */
function requireDistinct(values: readonly string[], what: string): void {
  if (new Set(values).size < values.length) throw invalidParameter(`${what} is duplicated`)
}
