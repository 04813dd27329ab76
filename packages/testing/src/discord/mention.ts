import { fieldsOf } from '../fields.ts'
import { listIn } from './payload.ts'

const written = /@everyone|@here|<@[!&]?(\d+)>/g

/** Mentions in code don't notify. */
const code = /```[\s\S]*?```|(`+)[\s\S]*?[^`]\1(?!`)/g

/**
 * Who a message mentions: `@everyone`, `@here`, or a person's or role's mark. Only what `allowed_mentions` permits; all
 * if it is absent. https://discord.com/developers/docs/resources/message#allowed-mentions-object
 */
export function rungBy(content: string, allowed: unknown): readonly string[] {
  const found = content.replace(code, '').matchAll(written)
  return [...found].filter(([mark, id]) => isAllowed(mark, id, allowed)).map(([mark]) => mark)
}

function isAllowed(mark: string, id: string | undefined, allowed: unknown): boolean {
  if (allowed === undefined || allowed === null) return true
  const fields = fieldsOf(allowed)
  const parse = listIn(fields, 'parse')
  if (id === undefined) return parse.includes('everyone')
  const kind = mark.startsWith('<@&') ? 'roles' : 'users'
  return parse.includes(kind) || listIn(fields, kind).includes(id)
}
