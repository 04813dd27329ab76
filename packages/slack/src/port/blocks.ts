import { type Bubble, type Form, PortError } from '@reply/sink/channel'
import type { SlackFields } from '../api.ts'
import { writeForm } from '../form.ts'
import { blockOverhead, blocksLength, fallbackLength, labelLength, mostOptions, optionLength } from '../limits.ts'
import { escapedTo, plainLabel } from '../render.ts'

/** Id prefixes of this package's controls: the app may have others. */
export const ids = { button: 'reply.button', select: 'reply.select', form: 'reply.form' } as const

/** A message's blocks, and the fallback text for notifications. Throws `too-long` if Slack wouldn't take all blocks. */
export function contentOf(bubble: Bubble): SlackFields {
  const { text, plain, isPlain, buttons, form, mentions = [] } = bubble
  const people = mentions.map(({ id }) => id).filter((id) => /^[UW][A-Z\d]+$/.test(id))
  const lead = people.map((id) => `<@${id}>`).join(' ')
  const rows = buttons.map((row, at) => ({
    type: 'actions',
    block_id: `${ids.button}.${at}`,
    elements: row.map(({ label, data }, index) => ({
      type: 'button',
      action_id: `${ids.button}.${at}.${index}`,
      text: plainLabel(label, labelLength),
      value: data,
    })),
  }))
  const body = isPlain ? literal(text, people) : { type: 'markdown', text: lead === '' ? text : `${lead}\n\n${text}` }
  const blocks = [body, ...rows, ...(form ? [formBlock(form)] : [])]
  const length = lengthOf(blocks)
  if (length > blocksLength) throw new PortError('too-long', `${length} characters in all blocks are too many.`)
  const fallback = escapedTo(plain.trim() === '' ? '…' : plain, fallbackLength - lead.length - 1)
  return { text: lead === '' ? fallback : `${lead} ${fallback}`, blocks }
}

/** The length of all texts in a message's blocks, with what Slack adds to each. The first is the text's. */
function lengthOf(blocks: readonly SlackFields[]): number {
  return blocks.reduce((sum, block) => sum + blockOverhead + charactersIn(block), -blockOverhead)
}

function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, inner) => sum + charactersIn(inner), 0)
}

/** Text that Slack doesn't format, below the people that it notifies. */
function literal(text: string, people: readonly string[]): SlackFields {
  const users = people.map((id) => ({ type: 'user', user_id: id }))
  const said = { type: 'text', text: people.length === 0 ? text : `\n${text}` }
  return { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: [...users, said] }] }
}

/** A single question that only has options becomes a select. Every other form becomes a button that opens a dialog. */
function formBlock(form: Form): SlackFields {
  const options = selectable(form)
  if (options) {
    const select = {
      type: 'static_select',
      action_id: ids.select,
      placeholder: plainLabel(form.label, labelLength),
      options: options.map((label) => ({ text: plainLabel(label, labelLength), value: label })),
    }
    return { type: 'actions', block_id: `${ids.select}:${form.token}`, elements: [select] }
  }
  const label = plainLabel(form.label, labelLength)
  const button = { type: 'button', action_id: ids.form, text: label, value: writeForm(form) }
  return { type: 'actions', block_id: ids.form, elements: [button] }
}

/** Returns the labels if they can be the options' values: few, unique and short enough. */
function selectable({ questions }: Form): readonly string[] | undefined {
  const [question, ...more] = questions
  if (!question || more.length > 0 || question.multiple || question.custom) return undefined
  const labels = question.options.map(({ label }) => label)
  if (labels.length === 0 || labels.length > mostOptions || new Set(labels).size < labels.length) return undefined
  return labels.every((label) => label.length > 0 && label.length <= optionLength) ? labels : undefined
}
