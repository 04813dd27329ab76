import { type Fields, fieldsOf } from '../fields.ts'
import { limitLength, requireText, requireValidIds, type SlackOption, validOptions, validPlainText } from './blocks.ts'
import { limits } from './limits.ts'
import { Refusal } from './refusal.ts'

/** A field of a dialog. */
export interface SlackField {
  /** The id of its block. `b0`, `b1`, … if the app gave none. */
  readonly blockId: string
  /** The id that the app gave its element. */
  readonly actionId: string
  /** The field's name. */
  readonly label: string
  /** The kind of input: text, one option, or several. */
  readonly type: 'text' | 'one' | 'several'
  /** The element's own type, in Slack's terms. */
  readonly element: string
  /** In order. Empty for `text`. */
  readonly options: readonly SlackOption[]
  /** Whether it may stay empty. */
  readonly isOptional: boolean
}

/** A dialog that a person has open. */
export interface SlackView {
  /** The view's id. */
  readonly id: string
  /** The person who has it open: `U…`. */
  readonly user: string
  /** The dialog's headline. */
  readonly title: string
  /** From the top. Empty if it only shows text. */
  readonly fields: readonly SlackField[]
  /** As the app sent it. */
  readonly source: Readonly<Record<string, unknown>>
}

const kinds: Readonly<Record<string, { readonly type: SlackField['type']; readonly most: number }>> = {
  plain_text_input: { type: 'text', most: 0 },
  radio_buttons: { type: 'one', most: limits.boxes },
  static_select: { type: 'one', most: limits.options },
  checkboxes: { type: 'several', most: limits.boxes },
  multi_static_select: { type: 'several', most: limits.options },
}

/**
 * Returns a modal, for the person who has it open. Throws a `Refusal` for another type, for no or too many blocks, for
 * fields without a Submit button, for ids that are not unique, and for a wrong or too long field or text.
 */
export function readView(value: unknown, id: string, user: string): SlackView {
  const source = fieldsOf(value)
  if (source.type !== 'modal') throw new Refusal('invalid_arguments', '[ERROR] the fake Slack opens only modals')
  const { blocks, private_metadata = '', callback_id = '' } = source
  limitLength(String(private_metadata), limits.privateMetadata)
  limitLength(String(callback_id), limits.id)
  if (!Array.isArray(blocks) || blocks.length === 0 || blocks.length > limits.viewBlocks)
    throw new Refusal('invalid_arguments', `[ERROR] a view has 1 to ${limits.viewBlocks} blocks`)
  const fields = blocks.map(fieldsOf).flatMap((block, index) => readField(block, index) ?? [])
  requireValidIds(fields.map(({ blockId }) => blockId))
  if (fields.length > 0) validPlainText(source.submit, limits.title)
  return { id, user, title: validPlainText(source.title, limits.title), fields, source }
}

/**
 * Returns a block's field. Undefined for a block that only shows something. Throws a `Refusal` for an unknown block
 * or input, and for a wrong text, id or option.
 */
function readField(block: Fields, index: number): SlackField | undefined {
  if (block.type === 'section' || block.type === 'markdown' || block.type === 'divider') return undefined
  if (block.type !== 'input') throw new Refusal('invalid_arguments', `[ERROR] unsupported type: ${String(block.type)}`)
  const element = fieldsOf(block.element)
  const kind = kinds[String(element.type)]
  if (!kind) throw new Refusal('invalid_arguments', `[ERROR] unsupported type: ${String(element.type)}`)
  return {
    blockId: block.block_id === undefined ? `b${index}` : String(block.block_id),
    actionId: requireText(element.action_id),
    label: validPlainText(block.label, limits.fieldLabel),
    type: kind.type,
    element: String(element.type),
    options: kind.type === 'text' ? [] : validOptions(element.options, kind.most),
    isOptional: block.optional === true,
  }
}

/**
 * Returns the state that the app receives: a text or the picked options for each field, in order. Throws a `Refusal`
 * named "incomplete" for a missing answer, and for one that the field doesn't allow.
 */
export function submittedState({ fields }: SlackView, answers: readonly (string | readonly string[])[]): Fields {
  return Object.fromEntries(
    fields.map((field, index) => [field.blockId, { [field.actionId]: submittedField(field, answers[index] ?? '') }]),
  )
}

/**
 * Returns a field's answer. Null for no text or option. Throws a `Refusal` named "incomplete" for an answer that the
 * field doesn't allow.
 */
function submittedField(
  { type, element, label, options, isOptional }: SlackField,
  answer: string | readonly string[],
): object {
  const text = typeof answer === 'string' ? answer : answer.join(', ')
  if (text === '' && !isOptional) throw new Refusal('incomplete', `"${label}" must be filled in`)
  if (type === 'text') return { type: element, value: text === '' ? null : text }
  const labels = typeof answer === 'string' ? (answer === '' ? [] : [answer]) : answer
  const picked = labels.map((one) => {
    const option = options.find((each) => each.label === one)
    if (!option) throw new Refusal('incomplete', `"${label}" has no option "${one}"`)
    return { text: { type: 'plain_text', text: option.label }, value: option.value }
  })
  if (type === 'several') return { type: element, selected_options: picked }
  return { type: element, selected_option: picked[0] ?? null }
}
