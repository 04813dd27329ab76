import { fieldsOf } from '../fields.ts'
import type { DiscordEmbed } from './channel.ts'
import { textOf, tooMany } from './component.ts'
import { limits } from './limits.ts'
import { listIn } from './payload.ts'
import { invalidForm, tooLong } from './refusal.ts'

type Fields = Readonly<Record<string, unknown>>

/** Validates the embeds of a message. https://discord.com/developers/docs/resources/message#embed-object-embed-limits */
export function embedsOf(embeds: readonly unknown[]): readonly DiscordEmbed[] {
  if (embeds.length > limits.embeds) throw tooMany('embeds', limits.embeds)
  const all = embeds.map((each, index) => embedOf(fieldsOf(each), `embeds.${index}`))
  const length = all.reduce((sum, embed) => sum + lengthOf(embed), 0)
  if (length > limits.embedTexts)
    throw invalidForm('embeds', 'MAX_EMBED_SIZE_EXCEEDED', `Embed size exceeds maximum size of ${limits.embedTexts}`)
  return all
}

function embedOf(source: Fields, path: string): DiscordEmbed {
  const fields = listIn(source, 'fields').map((each, index) => {
    const field = fieldsOf(each)
    const at = `${path}.fields.${index}`
    const name = textOf(field, 'name', { path: at, most: limits.fieldName })
    return { name, value: textOf(field, 'value', { path: at, most: limits.fieldValue }) }
  })
  if (fields.length > limits.embedFields) throw tooMany(`${path}.fields`, limits.fields)
  const title = optional(source.title, `${path}.title`, limits.embedTitle)
  const description = optional(source.description, `${path}.description`, limits.embedDescription)
  optional(fieldsOf(source.footer).text, `${path}.footer.text`, limits.footer)
  optional(fieldsOf(source.author).name, `${path}.author.name`, limits.author)
  const isEmpty = title === '' && description === '' && fields.length === 0
  if (isEmpty && source.image === undefined && source.thumbnail === undefined && source.author === undefined)
    throw invalidForm(`${path}.description`, 'BASE_TYPE_REQUIRED', 'This field is required')
  return { title, description, fields, source }
}

function lengthOf({ title, description, fields, source }: DiscordEmbed): number {
  const texts = [title, description, fieldsOf(source.footer).text, fieldsOf(source.author).name]
  const length = texts.reduce<number>((sum, text) => sum + String(text ?? '').length, 0)
  return fields.reduce((sum, { name, value }) => sum + name.length + value.length, length)
}

function optional(value: unknown, path: string, most: number): string {
  if (value === undefined || value === null) return ''
  const text = String(value)
  if (text.length > most) throw tooLong(path, most)
  return text
}
