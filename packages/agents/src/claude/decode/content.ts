import { byteSize } from '@reply/core/show'
import type { LocalFile } from '@reply/core/source'
import * as z from 'zod'

const source = z.union([
  z.object({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
  z.object({ type: z.literal('text'), media_type: z.string(), data: z.string() }),
  z.object({ type: z.literal('url'), url: z.string() }),
])

/** A block of a message's content, or of a tool's result. Other kinds become undefined. */
const block = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.enum(['image', 'document']), source, title: z.string().nullish() }),
  z.unknown().transform(() => undefined),
])

type Block = z.infer<typeof block>

const blocks = z.array(block)

/**
 * Returns the text of a content, with a line for each block. A picture or document becomes its type and size, for example
 * `[image/png, 12 kB]`, or its address. Empty for a content of another shape.
 */
export function textIn(content: unknown): string {
  if (typeof content === 'string') return content
  return (blocks.safeParse(content).data ?? [])
    .map(textOf)
    .filter((text) => text !== '')
    .join('\n')
}

/** Returns the pictures and documents of a content. Empty for a text, and for a content of another shape. */
export function filesIn(content: unknown): readonly LocalFile[] {
  return (blocks.safeParse(content).data ?? []).flatMap((one) => fileOf(one) ?? [])
}

/** The links of an MCP tool's result, as 2.1.332 has them. 2.1.197 only makes a text of them. */
const linking = z.object({
  resourceLinks: z.array(
    z.object({
      uri: z.string(),
      name: z.string().optional(),
      description: z.string().optional(),
      mimeType: z.string().optional(),
      size: z.number().optional(),
    }),
  ),
})

/** Returns the files of the computer that a tool's own result links to. Empty without any, and for a value of another shape. */
export function linkedFiles(value: unknown): readonly LocalFile[] {
  return (linking.safeParse(value).data?.resourceLinks ?? []).flatMap(
    ({ uri: url, name: filename, description: caption, mimeType: mime = 'application/octet-stream', size }) =>
      url.startsWith('file:') ? [{ url, mime, filename, size, caption }] : [],
  )
}

/** Returns the line of a block: its text, or what the picture or document is. Empty for other kinds. */
function textOf(one: Block): string {
  if (one?.type === 'text') return one.text
  if (!one) return ''
  if (one.source.type === 'url') return `[${one.source.url}]`
  const { type, media_type, data } = one.source
  return `[${media_type}, ${byteSize(Buffer.byteLength(data, type === 'base64' ? 'base64' : 'utf8'))}]`
}

/**
 * Returns the picture or document as a file with a `data:` URL, or with its address and an unknown type. Undefined for other
 * blocks.
 */
function fileOf(one: Block): LocalFile | undefined {
  if (!one || one.type === 'text') return undefined
  const filename = one.title ?? undefined
  if (one.source.type === 'url') return { url: one.source.url, mime: 'application/octet-stream', filename }
  const { type, media_type: mime, data } = one.source
  const content = type === 'base64' ? data : Buffer.from(data).toString('base64')
  return { url: `data:${mime};base64,${content}`, mime, filename }
}
