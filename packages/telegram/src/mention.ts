import type { Bubble } from '@reply/sink/channel'
import type { TelegramFields } from './api.ts'

/** The people that a message notifies, on a line above its text, in each of Telegram's markups. */
export interface Lead {
  /** HTML of a rich message. */
  readonly rich: string
  /** HTML. */
  readonly html: string
  /** What people read. */
  readonly plain: string
  /** For a text without markup: the fields of the call that mark the people in `plain`. */
  readonly marks: TelegramFields
}

const none: Lead = { rich: '', html: '', plain: '', marks: {} }

/**
 * A person is mentioned by id, so that people without a username are notified too. Telegram notifies only members of the
 * group and people who wrote to the bot. https://core.telegram.org/bots/api#formatting-options
 */
export function leadOf({ mentions = [] }: Bubble): Lead {
  const people = mentions.filter(({ id }) => /^\d+$/.test(id))
  if (people.length === 0) return none
  const named = people.map(({ id, name }) => ({ id, name: name.replaceAll(/\s+/g, ' ').trim() || id }))
  const plain = `${named.map(({ name }) => name).join(' ')}\n`
  let offset = 0
  const entities = named.map(({ id, name }) => {
    const entity = { type: 'text_mention', offset, length: name.length, user: userOf(id, name) }
    offset += name.length + 1
    return entity
  })
  const linked = named.map(({ id, name }) => `<a href="tg://user?id=${id}">${escaped(name)}</a>`).join(' ')
  return {
    rich: `<p>${linked}</p>\n`,
    html: `${linked}\n`,
    plain,
    marks: { entities },
  }
}

/** The fields that a `User` must have. https://core.telegram.org/bots/api#user */
function userOf(id: string, name: string): TelegramFields {
  return { id: Number(id), is_bot: false, first_name: name }
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
