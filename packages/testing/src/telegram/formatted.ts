import { limits } from './limits.ts'
import { badRequest } from './refusal.ts'

/** A range of text with a format or function. Offset and length count UTF-16 units. */
export interface TelegramEntity {
  /** The Bot API's name: `bold`, `pre`, `text_link`, `bot_command`, … */
  readonly type: string
  /** Where it begins, in UTF-16 units of the text. */
  readonly offset: number
  /** In UTF-16 units. */
  readonly length: number
  /** Set for `text_link`: where it leads. */
  readonly url?: string
  /** Set for `text_mention`: the person. */
  readonly userId?: number
  /** Set for `pre`, if the code names its language. */
  readonly language?: string
}

/** The markup of a text's source. */
export type TelegramMode = 'plain' | 'HTML' | 'MarkdownV2' | 'rich'

export interface Formatted {
  readonly text: string
  readonly entities: readonly TelegramEntity[]
}

/** The refusal of a text with malformed markup. */
export const unparsable = (what: string): Error => badRequest(`can't parse entities: ${what}`)

/** The offset of a character in UTF-8 bytes, in which Telegram reports positions. */
export const byteOffset = (source: string, index: number): number => Buffer.byteLength(source.slice(0, index), 'utf8')

/**
 * Returns a text as Telegram stores it: without surrounding white space, blank entities, entities inside code, and
 * those beyond the limit. Entities are in order, and the longer of two that begin together comes first.
 */
export function asStored({ text, entities }: Formatted): Formatted {
  const start = text.length - text.trimStart().length
  const kept = text.trim()
  const moved = entities.map((entity) => {
    const from = Math.max(0, entity.offset - start)
    const to = Math.min(kept.length, entity.offset + entity.length - start)
    return { ...entity, offset: from, length: to - from }
  })
  const filled = moved.filter(({ offset, length }) => kept.slice(offset, offset + length).trim() !== '')
  const shown = filled.filter((entity) => !filled.some((other) => other !== entity && isCodeAround(other, entity)))
  return {
    text: kept,
    entities: shown
      .toSorted((one, other) => one.offset - other.offset || other.length - one.length)
      .slice(0, limits.entities),
  }
}

/** Whether the inner entity is inside code, so that Telegram drops it. It keeps a code block inside inline code. */
function isCodeAround(outer: TelegramEntity, inner: TelegramEntity): boolean {
  if (outer.type !== 'pre' && !(outer.type === 'code' && inner.type !== 'pre')) return false
  return outer.offset <= inner.offset && inner.offset + inner.length <= outer.offset + outer.length
}
