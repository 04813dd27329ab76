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

/** Validates a message's blocks and returns what they display. */
export function shownIn(blocks: readonly unknown[]): Shown {
  if (blocks.length > limits.blocks) throw invalid(`no more than ${limits.blocks} items allowed`)
  const all = blocks.map(fieldsOf)
  unique(all.flatMap(({ block_id }) => (block_id === undefined ? [] : [String(block_id)])))
  const markdown = all.filter(({ type }) => type === 'markdown').map(({ text }) => filled(text))
  const length = markdown.join('').length
  if (length > limits.markdown) throw new Refusal('msg_blocks_too_long', `${length} characters of Markdown`)
  // https://github.com/slackapi/bolt-js/issues/2509: each further block counts with about 125 characters.
  const whole = all.reduce<number>((sum, block) => sum + charactersIn(block), (all.length - 1) * limits.blockOverhead)
  if (whole > limits.allBlocks) throw new Refusal('msg_blocks_too_long', `${whole} characters in all blocks`)
  const rows = all.flatMap((block, index) => (block.type === 'actions' ? [controlsOf(block, index)] : []))
  unique(rows.flat().map(({ actionId }) => actionId))
  const texts = all.flatMap((block) => textOf(block) ?? [])
  return { text: texts.join('\n'), mode: markdown.length > 0 ? 'markdown' : 'plain', rows }
}

function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, inner) => sum + charactersIn(inner), 0)
}

function textOf(block: Fields): string | undefined {
  switch (block.type) {
    case 'markdown':
      return filled(block.text)
    case 'rich_text':
      return textOfElements(block.elements)
    case 'section': {
      const { text, fields } = block
      if (text === undefined && fields === undefined) throw invalid('missing required field: text or fields')
      const all = [...(text === undefined ? [] : [within(mrkdwn(text), limits.section)]), ...fieldsIn(fields)]
      return all.join('\n')
    }
    case 'header':
      return plainText(block.text, limits.header)
    case 'context':
      return contextIn(block.elements)
    case 'image': {
      const { image_url, slack_file, alt_text, title } = block
      if ((image_url === undefined) === (slack_file === undefined))
        throw invalid('must have an image_url or slack_file')
      if (image_url !== undefined) within(filled(image_url), limits.url)
      const name = title === undefined ? '' : plainText(title, limits.imageText)
      return name || within(filled(alt_text), limits.imageText)
    }
    case 'actions':
    case 'divider':
      return undefined
    default:
      throw invalid(`unsupported type: ${String(block.type)}`)
  }
}

/** https://docs.slack.dev/reference/block-kit/blocks/section-block: up to ten texts beside the main one. */
function fieldsIn(fields: unknown): readonly string[] {
  if (fields === undefined) return []
  if (!Array.isArray(fields) || fields.length === 0 || fields.length > limits.fields)
    throw invalid(`there are 1 to ${limits.fields} fields`)
  return fields.map((field) => within(mrkdwn(field), limits.field))
}

/** https://docs.slack.dev/reference/block-kit/blocks/context-block: texts, and images without a shown text. */
function contextIn(elements: unknown): string {
  if (!Array.isArray(elements) || elements.length === 0 || elements.length > limits.context)
    throw invalid(`a context block has 1 to ${limits.context} elements`)
  const texts = elements.map(fieldsOf).map((element) => {
    if (element.type !== 'image') return mrkdwn(element)
    filled(element.alt_text)
    return ''
  })
  return texts.filter((text) => text !== '').join(' ')
}

function mrkdwn(value: unknown): string {
  const { type, text } = fieldsOf(value)
  if (type !== 'mrkdwn' && type !== 'plain_text') throw invalid(`unsupported type: ${String(type)}`)
  return filled(text)
}

function textOfElements(elements: unknown): string {
  if (!Array.isArray(elements)) throw invalid('missing required field: elements')
  return elements.map(fieldsOf).map(textOfElement).join('')
}

/** https://docs.slack.dev/reference/block-kit/blocks/rich-text-block#user-element-type */
function textOfElement(element: Fields): string {
  if (element.type === 'text') return filled(element.text)
  return element.type === 'user' ? `<@${filled(element.user_id)}>` : textOfElements(element.elements)
}

function controlsOf(block: Fields, index: number): readonly SlackControl[] {
  const { elements, block_id } = block
  if (!Array.isArray(elements) || elements.length === 0 || elements.length > limits.actions)
    throw invalid(`an actions block has 1 to ${limits.actions} elements`)
  const blockId = block_id === undefined ? `b${index}` : String(block_id)
  return elements.map(fieldsOf).map((element, at) => controlOf(element, blockId, `${blockId}.${at}`))
}

function controlOf(element: Fields, blockId: string, otherwise: string): SlackControl {
  const { type, action_id, value = '' } = element
  const actionId = action_id === undefined ? otherwise : String(action_id)
  within(actionId, limits.id)
  if (type === 'button') {
    const label = plainText(element.text, limits.label)
    return { type, actionId, blockId, label, value: within(String(value), limits.value), options: [] }
  }
  if (type !== 'static_select') throw invalid(`unsupported type: ${String(type)}`)
  const label = plainText(element.placeholder, limits.optionValue)
  return { type: 'select', actionId, blockId, label, value: '', options: optionsOf(element.options, limits.options) }
}

export function optionsOf(options: unknown, most: number): readonly SlackOption[] {
  if (!Array.isArray(options) || options.length === 0 || options.length > most)
    throw invalid(`there are 1 to ${most} options`)
  const all = options.map(fieldsOf).map(({ text, value, description }) => {
    if (description !== undefined) plainText(description, limits.label)
    return { label: plainText(text, limits.label), value: within(filled(value), limits.optionValue) }
  })
  unique(all.map(({ value }) => value))
  return all
}

/** A text that Slack doesn't format. */
export function plainText(value: unknown, most: number): string {
  const { type, text } = fieldsOf(value)
  if (type !== 'plain_text') throw invalid('a plain_text is needed here')
  // White space alone counts as nothing. [chosen]
  if (filled(text).trim() === '') throw invalid('must be more than 0 characters')
  return within(filled(text), most)
}

export function filled(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw invalid('must be more than 0 characters')
  return value
}

export function within(text: string, most: number): string {
  if (text.length > most) throw invalid(`must be less than ${most + 1} characters`)
  return text
}

export function unique(ids: readonly string[]): void {
  if (new Set(ids).size < ids.length) throw invalid('ids must be unique')
  for (const id of ids) within(id, limits.id)
}

function invalid(what: string): Refusal {
  return new Refusal('invalid_blocks', `[ERROR] ${what}`)
}
