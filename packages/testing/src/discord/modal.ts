import { type Fields, fieldsOf } from '../fields.ts'
import { listOf } from '../platform/payload.ts'
import type { DiscordOption } from './channel.ts'
import { requireCustomId, requireText, validSelect } from './component.ts'
import { limits } from './limits.ts'
import { invalidForm, tooLong } from './refusal.ts'

/** A dialog that is open for a person. */
export interface DiscordModal {
  /** The id that the bot gave it. */
  readonly customId: string
  /** The dialog's headline. */
  readonly title: string
  /** From the top. */
  readonly fields: readonly DiscordField[]
  /** Text between the fields. */
  readonly texts: readonly string[]
}

/** A field of a dialog: a text, or a select of `min` to `max` options. `most` is the longest text, in UTF-16 units. */
export type DiscordField = {
  /** The field's name. */
  readonly label: string
  /** A line below the label, if any. */
  readonly description?: string
  /** The id that the bot gave it. */
  readonly customId: string
  /** Whether it must be filled in. */
  readonly isRequired: boolean
} & (
  | { readonly type: 'select'; readonly options: readonly DiscordOption[]; readonly min: number; readonly max: number }
  | { readonly type: 'text'; readonly most: number }
)

/**
 * Returns the dialog that an answer opens. Throws a `Refusal` for none or too many components, for another type than
 * labels and texts, for a custom id that occurs twice, and for a missing or too long text.
 * https://discord.com/developers/docs/components/reference#label
 */
export function validModal(data: Fields): DiscordModal {
  const components = listOf(data.components)
  if (components.length === 0) throw invalidForm('data.components', 'BASE_TYPE_REQUIRED', 'This field is required')
  if (components.length > limits.fields) throw tooLong('data.components', limits.fields)
  const fields: DiscordField[] = []
  const texts: string[] = []
  for (const [index, each] of components.entries()) {
    const component = fieldsOf(each)
    const path = `data.components.${index}`
    if (component.type === 10) texts.push(requireText(component, 'content', path, limits.content))
    else if (component.type === 18) fields.push(validField(component, path))
    else throw invalidForm(`${path}.type`, 'BASE_TYPE_CHOICES', 'Value must be one of (10, 18).')
  }
  const ids = fields.map(({ customId }) => customId)
  if (new Set(ids).size < ids.length)
    throw invalidForm('data.components', 'COMPONENT_CUSTOM_ID_DUPLICATED', 'Component custom id cannot be duplicated')
  const title = requireText(data, 'title', 'data', limits.title)
  return { customId: requireCustomId(data, 'data'), title, fields, texts }
}

/**
 * Returns a labelled field, required unless it says otherwise. An optional select takes no minimum. Throws a
 * `Refusal` for anything but a select or a text input, for a text input with a label of its own, and for a missing or
 * too long text.
 */
function validField(labelled: Fields, path: string): DiscordField {
  const label = requireText(labelled, 'label', path, limits.fieldLabel)
  const { description } = labelled
  if (typeof description === 'string' && description.length > limits.fieldDescription)
    throw tooLong(`${path}.description`, limits.fieldDescription)
  const inside = fieldsOf(labelled.component)
  const at = `${path}.component`
  const named = {
    label,
    ...(typeof description === 'string' && { description }),
    customId: requireCustomId(inside, at),
    isRequired: inside.required !== false,
  }
  if (inside.type === 3) {
    const { options, min, max } = validSelect(inside, at)
    return { ...named, type: 'select', options, min: named.isRequired ? Math.max(1, min) : 0, max }
  }
  if (inside.type !== 4) throw invalidForm(`${at}.type`, 'BASE_TYPE_CHOICES', 'Value must be one of (3, 4).')
  if (inside.label !== undefined)
    throw invalidForm(`${at}.label`, 'BASE_TYPE_BAD', 'A text input in a label has none of its own.')
  if (typeof inside.placeholder === 'string' && inside.placeholder.length > limits.fieldPlaceholder)
    throw tooLong(`${at}.placeholder`, limits.fieldPlaceholder)
  const most = typeof inside.max_length === 'number' ? inside.max_length : limits.field
  return { ...named, type: 'text', most }
}
