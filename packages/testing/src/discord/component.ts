import { type Fields, fieldsOf } from '../fields.ts'
import { listOf } from '../platform/payload.ts'
import type { DiscordComponent, DiscordOption } from './channel.ts'
import { limits } from './limits.ts'
import { invalidForm, tooLong } from './refusal.ts'

/**
 * Returns the rows below a message. Throws a `Refusal` for too many, for a custom id that occurs twice, and for a wrong
 * row or component. https://discord.com/developers/docs/components/reference
 */
export function validRows(components: readonly unknown[]): readonly (readonly DiscordComponent[])[] {
  if (components.length > limits.rows) throw tooLong('components', limits.rows)
  const rows = components.map((row, index) => validRow(fieldsOf(row), `components.${index}`))
  const ids = rows.flat().flatMap((each) => (each.type === 'link' ? [] : [each.customId]))
  const twice = ids.findIndex((id, index) => ids.indexOf(id) !== index)
  if (twice >= 0)
    throw invalidForm('components', 'COMPONENT_CUSTOM_ID_DUPLICATED', 'Component custom id cannot be duplicated')
  return rows
}

/**
 * Returns the components of a row. Throws a `Refusal` for an empty row, one with too many components, a select beside
 * others, and anything but buttons and selects.
 */
function validRow(row: Fields, path: string): readonly DiscordComponent[] {
  if (row.type !== 1) throw invalidForm(`${path}.type`, 'BASE_TYPE_CHOICES', 'Value must be one of (1,).')
  const inside = listOf(row.components).map((each, index) => {
    const fields = fieldsOf(each)
    const at = `${path}.components.${index}`
    if (fields.type === 2) return validButton(fields, at)
    if (fields.type === 3) return validSelect(fields, at)
    throw invalidForm(`${at}.type`, 'BASE_TYPE_CHOICES', 'Value must be one of (2, 3, 5, 6, 7, 8).')
  })
  if (inside.length === 0)
    throw invalidForm(`${path}.components`, 'BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 5 in length.')
  const most = inside.some(({ type }) => type === 'select') ? 1 : limits.buttons
  if (inside.length > most) throw tooLong(`${path}.components`, most)
  return inside
}

/** The style of a button that opens an address. */
const linkStyle = 5

/**
 * Returns a button or a link. Throws a `Refusal` without a label, for a link with a custom id or without a URL, for a
 * button without a custom id, and for a text that is too long.
 */
function validButton(fields: Fields, path: string): DiscordComponent {
  const label = requireText(fields, 'label', path, limits.label)
  if (fields.style === linkStyle) {
    if (fields.custom_id !== undefined)
      throw invalidForm(
        `${path}.custom_id`,
        'BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE',
        'A link has no custom id',
      )
    return { type: 'link', label, customId: '', url: requireText(fields, 'url', path, limits.url) }
  }
  return { type: 'button', label, customId: requireCustomId(fields, path), style: Number(fields.style) }
}

/**
 * Returns a select, of exactly one option by default. Throws a `Refusal` for no or too many options, for two with the
 * same value, for a text that is too long, and for bounds that don't fit the options.
 */
export function validSelect(fields: Fields, path: string): Extract<DiscordComponent, { type: 'select' }> {
  const options = listOf(fields.options).map((each, index) => validOption(fieldsOf(each), `${path}.options.${index}`))
  if (options.length === 0 || options.length > limits.options)
    throw invalidForm(`${path}.options`, 'BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 25 in length.')
  const values = options.map(({ value }) => value)
  if (new Set(values).size < values.length)
    throw invalidForm(`${path}.options`, 'SELECT_COMPONENT_OPTION_VALUE_DUPLICATED', 'The option value is already used')
  if (typeof fields.placeholder === 'string' && fields.placeholder.length > limits.placeholder)
    throw tooLong(`${path}.placeholder`, limits.placeholder)
  const min = typeof fields.min_values === 'number' ? fields.min_values : 1
  const max = typeof fields.max_values === 'number' ? fields.max_values : 1
  if (max > options.length || max < 1 || min > max)
    throw invalidForm(`${path}.max_values`, 'BASE_TYPE_BAD_LENGTH', 'It must fit the number of options.')
  return { type: 'select', customId: requireCustomId(fields, path), options, min, max }
}

/** Returns an option. Throws a `Refusal` for a missing label or value, and for a text that is too long. */
function validOption(fields: Fields, path: string): DiscordOption {
  const label = requireText(fields, 'label', path, limits.option)
  const value = requireText(fields, 'value', path, limits.option)
  const { description } = fields
  if (typeof description !== 'string') return { label, value }
  return { label, value, description: requireText(fields, 'description', path, limits.option) }
}

/** Returns the custom id. Throws a `Refusal` if it is missing or too long. */
export function requireCustomId(fields: Fields, path: string): string {
  return requireText(fields, 'custom_id', path, limits.customId)
}

/**
 * Returns a field's text. Throws a `Refusal` that names its path if it is absent, empty, or over `most` UTF-16 units.
 */
export function requireText(fields: Fields, name: string, path: string, most: number): string {
  const value = fields[name]
  const at = path === '' ? name : `${path}.${name}`
  if (typeof value !== 'string' || value === '') throw invalidForm(at, 'BASE_TYPE_REQUIRED', 'This field is required')
  if (value.length > most) throw tooLong(at, most)
  return value
}
