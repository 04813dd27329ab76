import { fieldsOf } from '../fields.ts'

/** Mentions anywhere in a text that Slack formats. Ignores whether they are inside code. */
const markup = /<!(?:channel|here|everyone|subteam\^\w+)(?:[|^][^>]*)?>|<@[UWB]\w+(?:\|[^>]*)?>/g

/** A link to a person counts too. */
const links = /\]\(\s*<?[!@]\w[^)]*\)|^\s*\[[^\]]+\]:\s*<?[!@]\w.*$/gm

/** With `link_names` or `parse: full` a bare word is enough. */
const names = /(?<![\w@])@(?:channel|here|everyone|\w+)/g

export function mentionsIn(text: string, linksNames = false): readonly string[] {
  return [...mentionsInMrkdwn(text, linksNames), ...[...text.matchAll(links)].map(([mention]) => mention)]
}

/** The same in Slack's older formatting, whose links are marks: it has no links as in Markdown. */
export function mentionsInMrkdwn(text: string, linksNames = false): readonly string[] {
  const found = [...text.matchAll(markup), ...(linksNames ? text.matchAll(names) : [])]
  return found.map(([mention]) => mention)
}

/** Rich text blocks name the mentioned people explicitly. */
export function mentionsInBlocks(blocks: readonly unknown[]): readonly string[] {
  return blocks.flatMap((value): readonly string[] => {
    const { type, text, elements, user_id } = fieldsOf(value)
    if (type === 'user') return [`<@${String(user_id)}>`]
    if (type === 'broadcast' || type === 'usergroup') return [`${type} element`]
    if (type === 'markdown') return mentionsIn(String(text))
    const written = fieldsOf(text)
    const own = written.type === 'mrkdwn' ? mentionsInMrkdwn(String(written.text)) : []
    return [...own, ...(Array.isArray(elements) ? mentionsInBlocks(elements) : [])]
  })
}
