import { plain } from '../texts.ts'
import type { CommandReply } from './command.ts'

/** How many names a list shows at most. */
const mostNames = 40

/** Returns a reply with a title and the first `mostNames` names, then how many more there are. */
export function namesReply(title: string, names: readonly string[]): CommandReply {
  const shown = names.slice(0, mostNames).map((name) => `- ${plain(name)}`)
  const more = names.length > mostNames ? [`- … (${names.length - mostNames})`] : []
  return { text: [title, '', ...shown, ...more].join('\n') }
}
