import { basename } from 'node:path'
import { byteSize } from '@reply/core/show'
import { fileTypeOf, type LocalFile } from '@reply/core/source'
import * as z from 'zod'

const unknown = z.unknown().transform(() => undefined)

/** A block of an MCP tool's result: https://modelcontextprotocol.io/specification/draft/server/tools#tool-result */
const block = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.enum(['image', 'audio']), data: z.string(), mimeType: z.string() }),
  z.object({
    type: z.literal('resource'),
    resource: z.union([
      z.object({ uri: z.string(), text: z.string() }),
      z.object({ uri: z.string(), blob: z.string(), mimeType: z.string().nullish() }),
    ]),
  }),
  z.object({
    type: z.literal('resource_link'),
    uri: z.string(),
    name: z.string().nullish(),
    description: z.string().nullish(),
    mimeType: z.string().nullish(),
    size: z.number().nullish(),
  }),
  unknown,
])

type Block = z.infer<typeof block>

const blocks = z.array(block).catch([])

/**
 * The text of an MCP tool's result. A picture or another file in it becomes its type and size, for example
 * `[image/png, 12 kB]`, and a link its address. A result without blocks becomes its structured content as JSON, or empty.
 */
export function mcpText(content: unknown, structured: unknown): string {
  const texts = blocks.parse(content).map(textOfBlock)
  if (texts.length === 0) return structured === undefined || structured === null ? '' : JSON.stringify(structured)
  return texts.filter((text) => text !== '').join('\n')
}

/**
 * The pictures, sounds and embedded files of an MCP tool's result, and the files of the computer that it links to, in its order.
 * Leaves out unknown blocks.
 */
export function mcpFiles(content: unknown): readonly LocalFile[] {
  return blocks.parse(content).flatMap((one) => fileOfBlock(one) ?? [])
}

/** The text of a block. Empty if it is unknown. */
function textOfBlock(one: Block): string {
  if (one?.type === 'text') return one.text
  if (one?.type === 'resource_link') return `[${one.uri}]`
  if (one?.type === 'resource' && 'text' in one.resource) return one.resource.text
  const file = fileOfBlock(one)
  return file ? sizeOf(file) : ''
}

/**
 * The file of a block. Undefined for texts, links to other places, embedded texts and unknown blocks. An embedded file is named by
 * the end of its address, and a file without a type is `application/octet-stream`.
 */
function fileOfBlock(one: Block): LocalFile | undefined {
  if (one?.type === 'image' || one?.type === 'audio') return dataFile(one.mimeType, one.data)
  if (one?.type === 'resource_link') return linkedFile(one)
  if (one?.type !== 'resource' || !('blob' in one.resource)) return undefined
  const { uri, blob, mimeType } = one.resource
  return { ...dataFile(mimeType ?? 'application/octet-stream', blob), filename: basename(uri) }
}

/** The file of a link. Undefined if it leads elsewhere than to a file of the computer. */
function linkedFile({
  uri: url,
  name,
  description,
  mimeType,
  size,
}: Extract<Block, { readonly type: 'resource_link' }>) {
  if (!url.startsWith('file:')) return undefined
  const mime = mimeType ?? 'application/octet-stream'
  return { url, mime, filename: name ?? undefined, size: size ?? undefined, caption: description ?? undefined }
}

/** An item of a dynamic tool's output. Its pictures are `data:` URLs or addresses. */
const item = z.union([
  z.object({ type: z.literal('inputText'), text: z.string() }),
  z.object({ type: z.literal('inputImage'), imageUrl: z.string() }),
  z.object({ type: z.literal('inputAudio'), audioUrl: z.string() }),
  unknown,
])

const items = z.array(item).catch([])

/** The text of a dynamic tool's output, with the types and sizes of its files, or their addresses. */
export function textOfItems(content: unknown): string {
  const texts = items.parse(content).map((one) => {
    if (one?.type === 'inputText') return one.text
    const file = fileOfItem(one)
    return file ? sizeOf(file) : ''
  })
  return texts.filter((text) => text !== '').join('\n')
}

/** The pictures and sounds of a dynamic tool's output, in its order. Leaves out unknown items. */
export function filesOfItems(content: unknown): readonly LocalFile[] {
  return items.parse(content).flatMap((one) => fileOfItem(one) ?? [])
}

/** The file of an item, whose type is unknown for an address. Undefined for texts and unknown items. */
function fileOfItem(one: z.infer<typeof item>): LocalFile | undefined {
  if (!one || one.type === 'inputText') return undefined
  const url = one.type === 'inputImage' ? one.imageUrl : one.audioUrl
  const mime = /^data:([^;,]+)/.exec(url)?.[1] ?? 'application/octet-stream'
  return { url, mime }
}

/** A picture in base64, as a file. Undefined if it is not a PNG, JPEG, GIF or WebP. */
export function pictureIn(data: string): LocalFile | undefined {
  const { kind, mime } = fileTypeOf(Buffer.from(data.slice(0, 32), 'base64'), '')
  return kind === 'image' ? dataFile(mime, data) : undefined
}

const readFileResponse = z.object({ dataBase64: z.string() })

/** The picture of a response to `fs/readFile`. Undefined as for `pictureIn`. Throws if the response is malformed. */
export const pictureOfFile = (value: unknown): LocalFile | undefined =>
  pictureIn(readFileResponse.parse(value).dataBase64)

/** A file with its content in base64. */
function dataFile(mime: string, data: string): LocalFile {
  return { url: `data:${mime};base64,${data}`, mime }
}

/** The type and size of a file, or its address if it is not in the text itself. */
function sizeOf({ url, mime }: LocalFile): string {
  const data = /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1]
  return data === undefined ? `[${url}]` : `[${mime}, ${byteSize(Buffer.byteLength(data, 'base64'))}]`
}
