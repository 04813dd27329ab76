import { type Fields, fieldsOf } from '../fields.ts'
import { flagIn, listIn, numberIn, objectIn, textIn } from '../platform/payload.ts'
import type { Content, TelegramButton, TelegramRows } from './chat.ts'
import { asStored, type Formatted, type TelegramEntity, type TelegramMode } from './formatted.ts'
import { parseHtml } from './html.ts'
import { limits } from './limits.ts'
import { parseMarkdown } from './markdown.ts'
import { badRequest } from './refusal.ts'
import { elementsOf, loadedUrls, readRich, requireRichLimits, searchedRichText, textOfRich } from './rich.ts'

/**
 * Returns the parsed text of a call. It loads its first address, unless the call disables link previews. Throws a
 * `Refusal` if the text is empty, too long or malformed.
 */
export function textContent(payload: Fields): Content {
  const content = parsedContent(payload, 'text', 'entities')
  if (content.text === '') throw badRequest('message text is empty')
  if (content.text.length > limits.text) throw badRequest('message is too long')
  const { is_disabled: isDisabled } = objectIn(payload, 'link_preview_options') ?? {}
  return isDisabled === true || flagIn(payload, 'disable_web_page_preview')
    ? content
    : { ...content, loads: previewedUrls(content) }
}

/**
 * Returns the parsed text of a draft. It may be empty: the client then shows "Thinking…". Throws a `Refusal` if it is
 * too long or malformed.
 */
export function draftContent(payload: Fields): Content {
  const content = parsedContent(payload, 'text', 'entities')
  if (content.text.length > limits.text) throw badRequest('message is too long')
  return content
}

/** Returns the parsed caption of a call, which may be empty. Throws a `Refusal` if it is too long or malformed. */
export function captionContent(payload: Fields): Content {
  const content = parsedContent(payload, 'caption', 'caption_entities')
  if (content.text.length > limits.caption) throw badRequest('message caption is too long')
  return content
}

/** The first address of a text, or none. https://core.telegram.org/bots/api#linkpreviewoptions */
function previewedUrls({ text, entities }: Formatted): readonly string[] {
  const linked = entities.flatMap(({ url, offset }) => (url === undefined ? [] : [{ url, at: offset }]))
  const bare = [...text.matchAll(/https?:\/\/[^\s<>]+/gi)].map(({ 0: url, index }) => ({ url, at: index }))
  const [first] = [...linked, ...bare].toSorted((one, other) => one.at - other.at)
  return first === undefined ? [] : [first.url]
}

/**
 * Returns the content of a call's rich message, from its Markdown or HTML. Throws a `Refusal` if it is in several
 * formats or in blocks, shows nothing, or is too large. https://core.telegram.org/bots/api#inputrichmessage
 */
export function richContent(payload: Fields): Content {
  const { markdown, html, blocks, skip_entity_detection: skipped } = objectIn(payload, 'rich_message') ?? {}
  const sources = [markdown, html, blocks].filter((each) => each !== undefined)
  if (sources.length > 1) throw badRequest('exactly one of the fields html, markdown, or blocks must be used')
  if (blocks !== undefined) throw badRequest('the fake Telegram takes rich messages as markdown or html, not as blocks')
  const source = typeof markdown === 'string' ? markdown : typeof html === 'string' ? html : ''
  if (source.trim() === '') throw badRequest('message text is empty')
  const rich = readRich(typeof html === 'string' ? { html } : { markdown: source })
  const text = textOfRich(rich)
  const hasMore = elementsOf(rich).some(({ tag }) => /^(?:img|video|audio|tg-)/.test(tag))
  if (text === '' && !hasMore) throw badRequest('message text is empty')
  requireRichLimits(rich)
  const findings = skipped === true ? { names: [], commands: [] } : namesAndCommandsIn(searchedRichText(rich))
  return { ...findings, text, entities: [], source, mode: 'rich', rich, loads: loadedUrls(rich) }
}

/**
 * Returns the names and commands that Telegram finds in a text, without "@" and "/".
 * https://core.telegram.org/bots/api#messageentity
 */
function namesAndCommandsIn(text: string): Pick<Content, 'names' | 'commands'> {
  return {
    names: [...text.matchAll(/(?<![\w@])@(\w{3,32})(?!\w)/g)].map(([, name = '']) => name),
    commands: [...text.matchAll(/(?<![\w/<>])\/(\w{1,64})(?:@\w{3,32})?(?![\w/<>])/g)].map(([, name = '']) => name),
  }
}

/** The text with line breaks in place of code and links, because Telegram finds nothing in those. */
function searchedText({ text, entities }: Formatted): string {
  let searched = text
  for (const { type, offset, length } of entities)
    if (/^(?:code|pre|text_link|text_mention)$/.test(type))
      searched = searched.slice(0, offset) + '\n'.repeat(length) + searched.slice(offset + length)
  return searched
}

/**
 * Parses a field by the call's `parse_mode`, or with the entities of the call. Empty if the field is absent. Throws a
 * `Refusal` for malformed or unknown markup.
 */
function parsedContent(payload: Fields, name: string, entitiesName: string): Content {
  const source = textIn(payload, name) ?? ''
  const mode = (textIn(payload, 'parse_mode') ?? '').toLowerCase()
  if (mode === 'html') return toContent(asStored(parseHtml(source)), source, 'HTML')
  if (mode === 'markdownv2') return toContent(asStored(parseMarkdown(source)), source, 'MarkdownV2')
  if (mode !== '') throw badRequest('unsupported parse_mode')
  const entities = (listIn(payload, entitiesName) ?? []).map(readEntity)
  return toContent(asStored(requireInsideText({ text: source, entities })), source, 'plain')
}

/** Returns the content of a parsed text, with the names and commands that Telegram finds in it. */
function toContent(formatted: Formatted, source: string, mode: TelegramMode): Content {
  return { ...formatted, ...namesAndCommandsIn(searchedText(formatted)), source, mode, rich: [], loads: [] }
}

/** Returns an entity of a call. Fields of a wrong type are left out, and a wrong offset or length becomes -1. */
function readEntity(value: unknown): TelegramEntity {
  const entity = fieldsOf(value)
  const { type, url, language, user } = entity
  const userId = type === 'text_mention' ? numberIn(fieldsOf(user), 'id') : undefined
  return {
    type: String(type),
    offset: numberIn(entity, 'offset') ?? -1,
    length: numberIn(entity, 'length') ?? -1,
    ...(typeof url === 'string' ? { url } : {}),
    ...(userId === undefined ? {} : { userId }),
    ...(typeof language === 'string' ? { language } : {}),
  }
}

/** Returns the text. Throws a `Refusal` if an entity is not inside it. */
function requireInsideText(formatted: Formatted): Formatted {
  for (const { offset, length } of formatted.entities) {
    if (offset < 0 || length < 0 || offset + length > formatted.text.length)
      throw badRequest(`entity beginning at UTF-16 offset ${offset} ends after the end of the text`)
  }
  return formatted
}

/**
 * Returns the rows of a call's inline keyboard without empty ones. Empty if it has another markup or none. Throws a
 * `Refusal` for a wrong button.
 */
export function keyboardIn(payload: Fields): TelegramRows {
  const rows = objectIn(payload, 'reply_markup')?.inline_keyboard
  if (!Array.isArray(rows)) return []
  return rows.map((row: unknown) => (Array.isArray(row) ? row.map(readButton) : [])).filter((row) => row.length > 0)
}

/**
 * Buttons that do something in the person's app, and cause no press.
 * https://core.telegram.org/bots/api#inlinekeyboardbutton
 */
const otherActions = ['web_app', 'login_url', 'switch_inline_query', 'switch_inline_query_current_chat', 'copy_text']

/** Returns the URL. Adds a missing scheme, as Telegram does. Throws a `Refusal` for anything but a URL. */
function validUrl(url: string): string {
  if (/^(?:https?:\/\/|tg:\/\/)\S+$/i.test(url)) return url
  if (/^[\w-]+(?:\.[\w-]+)+(?:[/?#]\S*)?$/.test(url)) return `http://${url}`
  throw badRequest(`inline keyboard button URL '${url}' is invalid: Wrong HTTP URL`)
}

/**
 * Returns a button: a link if it has a URL, else another action, else its data. Throws a `Refusal` for a button
 * without a label, or without any of these, and for data that is too long.
 */
function readButton(value: unknown): TelegramButton {
  const fields = fieldsOf(value)
  const { text, callback_data: data, url } = fields
  if (typeof text !== 'string' || text === '')
    throw badRequest('can\'t parse inline keyboard button: Field "text" must be of type String')
  if (typeof url === 'string') return { text, url: validUrl(url) }
  const other = otherActions.find((name) => fields[name] !== undefined)
  if (other !== undefined) return { text, action: other }
  if (typeof data !== 'string') throw badRequest('Text buttons are unallowed in the inline keyboard')
  const bytes = Buffer.byteLength(data, 'utf8')
  if (bytes === 0 || bytes > limits.callbackData) throw badRequest('BUTTON_DATA_INVALID')
  return { text, data }
}
