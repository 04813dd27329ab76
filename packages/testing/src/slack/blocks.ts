import { type Fields, fieldsOf } from '../fields.ts'
import { limits } from './limits.ts'
import { Refusal } from './refusal.ts'

/** A button, or a select, below a message. */
export interface SlackControl {
  /** The kind of control. */
  readonly type: 'button' | 'select'
  /** The app's id for it. Derived from the block's id if the app gave none. */
  readonly actionId: string
  /** The id of its block. `b0`, `b1`, … if the app gave none. */
  readonly blockId: string
  /** The visible text. */
  readonly label: string
  /** A button's value. */
  readonly value: string
  /** A select's options. */
  readonly options: readonly SlackOption[]
}

/** One option of a select. */
export interface SlackOption {
  /** The visible label. */
  readonly label: string
  /** The value that the app receives when it is picked. */
  readonly value: string
}

/** The visible content of blocks. */
export interface Shown {
  /** Markdown source, or plain text. */
  readonly text: string
  readonly mode: 'markdown' | 'plain'
  readonly rows: readonly (readonly SlackControl[])[]
}

/**
 * Returns what a message's blocks display. Throws a `Refusal` for a block that Slack doesn't accept, for ids that are
 * not unique, and for too many blocks or characters.
 */
export function validBlocks(blocks: readonly unknown[]): Shown {
  if (blocks.length > limits.blocks) throw invalidBlocks(`no more than ${limits.blocks} items allowed`)
  const all = blocks.map(fieldsOf)
  requireValidIds(all.flatMap(({ block_id }) => (block_id === undefined ? [] : [String(block_id)])))
  const markdown = all.filter(({ type }) => type === 'markdown').map(({ text }) => requireText(text))
  const length = markdown.join('').length
  if (length > limits.markdown) throw new Refusal('msg_blocks_too_long', `${length} characters of Markdown`)
  // https://github.com/slackapi/bolt-js/issues/2509: each further block counts with about 125 characters.
  const whole = all.reduce<number>(
    (sum, block) => sum + countCharacters(block),
    (all.length - 1) * limits.blockOverhead,
  )
  if (whole > limits.allBlocks) throw new Refusal('msg_blocks_too_long', `${whole} characters in all blocks`)
  const rows = all.flatMap((block, index) => (block.type === 'actions' ? [validControls(block, index)] : []))
  requireValidIds(rows.flat().map(({ actionId }) => actionId))
  const texts = all.flatMap((block) => blockText(block) ?? [])
  return { text: texts.join('\n'), mode: markdown.length > 0 ? 'markdown' : 'plain', rows }
}

/** The UTF-16 units of all texts in a JSON value, also in lists and objects. 0 for anything else. */
function countCharacters(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, inner) => sum + countCharacters(inner), 0)
}

/**
 * Returns a block's text. Undefined for one that shows none. Throws a `Refusal` for an unknown block and for wrong
 * content. Doesn't check the controls of an actions block.
 */
function blockText(block: Fields): string | undefined {
  switch (block.type) {
    case 'markdown':
      return requireText(block.text)
    case 'rich_text':
      return richText(block.elements)
    case 'section': {
      const { text, fields } = block
      if (text === undefined && fields === undefined) throw invalidBlocks('missing required field: text or fields')
      const all = [
        ...(text === undefined ? [] : [limitLength(textOfObject(text), limits.section)]),
        ...sectionFields(fields),
      ]
      return all.join('\n')
    }
    case 'header':
      return validPlainText(block.text, limits.header)
    case 'context':
      return contextText(block.elements)
    case 'image': {
      const { image_url, slack_file, alt_text, title } = block
      if ((image_url === undefined) === (slack_file === undefined))
        throw invalidBlocks('must have an image_url or slack_file')
      if (image_url !== undefined) limitLength(requireText(image_url), limits.url)
      const name = title === undefined ? '' : validPlainText(title, limits.imageText)
      return name || limitLength(requireText(alt_text), limits.imageText)
    }
    case 'actions':
    case 'divider':
      return undefined
    default:
      throw invalidBlocks(`unsupported type: ${String(block.type)}`)
  }
}

/**
 * Returns the texts of a section beside the main one. None if undefined. Throws a `Refusal` for anything but 1 to 10
 * texts. https://docs.slack.dev/reference/block-kit/blocks/section-block
 */
function sectionFields(fields: unknown): readonly string[] {
  if (fields === undefined) return []
  if (!Array.isArray(fields) || fields.length === 0 || fields.length > limits.fields)
    throw invalidBlocks(`there are 1 to ${limits.fields} fields`)
  return fields.map((field) => limitLength(textOfObject(field), limits.field))
}

/**
 * Returns the texts of a context block on one line, without those of images. Throws a `Refusal` for anything but 1 to
 * 10 texts and images. https://docs.slack.dev/reference/block-kit/blocks/context-block
 */
function contextText(elements: unknown): string {
  if (!Array.isArray(elements) || elements.length === 0 || elements.length > limits.context)
    throw invalidBlocks(`a context block has 1 to ${limits.context} elements`)
  const texts = elements.map(fieldsOf).map((element) => {
    if (element.type !== 'image') return textOfObject(element)
    requireText(element.alt_text)
    return ''
  })
  return texts.filter((text) => text !== '').join(' ')
}

/** Returns the text of a mrkdwn or plain text object. Throws a `Refusal` for another type and an empty text. */
function textOfObject(value: unknown): string {
  const { type, text } = fieldsOf(value)
  if (type !== 'mrkdwn' && type !== 'plain_text') throw invalidBlocks(`unsupported type: ${String(type)}`)
  return requireText(text)
}

/**
 * Returns the text of elements, one after another. Throws a `Refusal` for anything but a list, and for a wrong
 * element.
 */
function richText(elements: unknown): string {
  if (!Array.isArray(elements)) throw invalidBlocks('missing required field: elements')
  return elements.map(fieldsOf).map(richTextOfElement).join('')
}

/**
 * Returns the text of an element: a text, a mention, or that of the elements inside. Throws a `Refusal` for anything
 * else.
 * https://docs.slack.dev/reference/block-kit/blocks/rich-text-block#user-element-type
 */
function richTextOfElement(element: Fields): string {
  if (element.type === 'text') return requireText(element.text)
  return element.type === 'user' ? `<@${requireText(element.user_id)}>` : richText(element.elements)
}

/**
 * Returns the controls of an actions block, under the id `b<index>` if it has none. Throws a `Refusal` for none, for
 * too many, and for a wrong one.
 */
function validControls(block: Fields, index: number): readonly SlackControl[] {
  const { elements, block_id } = block
  if (!Array.isArray(elements) || elements.length === 0 || elements.length > limits.actions)
    throw invalidBlocks(`an actions block has 1 to ${limits.actions} elements`)
  const blockId = block_id === undefined ? `b${index}` : String(block_id)
  return elements.map(fieldsOf).map((element, at) => validControl(element, blockId, `${blockId}.${at}`))
}

/**
 * Returns a button or a select, with `defaultId` as its action id if it has none. Throws a `Refusal` for another type,
 * for wrong options, and for a wrong or too long text, value or id.
 */
function validControl(element: Fields, blockId: string, defaultId: string): SlackControl {
  const { type, action_id, value = '' } = element
  const actionId = action_id === undefined ? defaultId : String(action_id)
  limitLength(actionId, limits.id)
  if (type === 'button') {
    const label = validPlainText(element.text, limits.label)
    return { type, actionId, blockId, label, value: limitLength(String(value), limits.value), options: [] }
  }
  if (type !== 'static_select') throw invalidBlocks(`unsupported type: ${String(type)}`)
  const label = validPlainText(element.placeholder, limits.optionValue)
  return { type: 'select', actionId, blockId, label, value: '', options: validOptions(element.options, limits.options) }
}

/**
 * Returns 1 to `most` options. Throws a `Refusal` for another number, for two with the same value, and for a wrong
 * text.
 */
export function validOptions(options: unknown, most: number): readonly SlackOption[] {
  if (!Array.isArray(options) || options.length === 0 || options.length > most)
    throw invalidBlocks(`there are 1 to ${most} options`)
  const all = options.map(fieldsOf).map(({ text, value, description }) => {
    if (description !== undefined) validPlainText(description, limits.label)
    return { label: validPlainText(text, limits.label), value: limitLength(requireText(value), limits.optionValue) }
  })
  requireValidIds(all.map(({ value }) => value))
  return all
}

/**
 * Returns the text of a plain text object. Throws a `Refusal` for anything else, and for one that is blank or too
 * long.
 */
export function validPlainText(value: unknown, most: number): string {
  const { type, text } = fieldsOf(value)
  if (type !== 'plain_text') throw invalidBlocks('a plain_text is needed here')
  // White space alone counts as nothing. [chosen]
  if (requireText(text).trim() === '') throw invalidBlocks('must be more than 0 characters')
  return limitLength(requireText(text), most)
}

/** Returns the text. Throws a `Refusal` for anything but a text that is not empty. */
export function requireText(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw invalidBlocks('must be more than 0 characters')
  return value
}

/** Returns the text. Throws a `Refusal` if it is too long. */
export function limitLength(text: string, most: number): string {
  if (text.length > most) throw invalidBlocks(`must be less than ${most + 1} characters`)
  return text
}

/**
 * Checks the ids of blocks or of controls, or the values of options. Throws a `Refusal` if two are the same, or if one
 * is too long.
 */
export function requireValidIds(ids: readonly string[]): void {
  if (new Set(ids).size < ids.length) throw invalidBlocks('ids must be unique')
  for (const id of ids) limitLength(id, limits.id)
}

/** The refusal of blocks that Slack doesn't accept, with this detail. */
function invalidBlocks(what: string): Refusal {
  return new Refusal('invalid_blocks', `[ERROR] ${what}`)
}
