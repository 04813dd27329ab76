import { fieldsOf } from '../recorded/frames.ts'

/** What would ring somebody's phone, anywhere in a text that Slack formats: it is not asked whether code is around it. */
const markup = /<!(?:channel|here|everyone|subteam\^\w+)(?:[|^][^>]*)?>|<@[UWB]\w+(?:\|[^>]*)?>/g

/** A link to a person is one, too. */
const links = /\]\(\s*<?[!@]\w[^)]*\)|^\s*\[[^\]]+\]:\s*<?[!@]\w.*$/gm

/** With `link_names` or `parse: full` a bare word is enough. */
const names = /(?<![\w@])@(?:channel|here|everyone|\w+)/g

export function mentionsIn(text: string, linksNames = false): readonly string[] {
  const found = [...text.matchAll(markup), ...text.matchAll(links), ...(linksNames ? text.matchAll(names) : [])]
  return found.map(([mention]) => mention)
}

/** Blocks of rich text say outright whom they mean. */
export function mentionsInBlocks(blocks: readonly unknown[]): readonly string[] {
  return blocks.flatMap((value): readonly string[] => {
    const { type, text, elements } = fieldsOf(value)
    if (type === 'broadcast' || type === 'user' || type === 'usergroup') return [`${type} element`]
    if (type === 'markdown') return mentionsIn(String(text))
    const written = fieldsOf(text)
    const own = written.type === 'mrkdwn' ? mentionsIn(String(written.text)) : []
    return [...own, ...(Array.isArray(elements) ? mentionsInBlocks(elements) : [])]
  })
}
