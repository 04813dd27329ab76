import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import { sentFileText } from '@reply/core/internal'
import { byteSize } from '@reply/core/show'
import { mimeTypeOf } from './mime-type.ts'
import { FileRefusal, type FileRules, type OpenedFile, openInProject, requireStable } from './project-file.ts'

/** How long a caption may be, in UTF-16 units: https://core.telegram.org/bots/api#sendphoto has the shortest limit. */
const maxCaption = 1024

/** The tool as MCP clients see it. */
export const sendFileTool = {
  name: 'send_file',
  title: 'Send a file',
  description:
    'Sends a file of the project to the people in the chat: a picture, a PDF, an archive or any other file. They see no file ' +
    'that you do not send. Send it once it is complete, and do not change or remove it afterwards: the chat reads it later.',
  inputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'The path of the file, absolute or relative to the project' },
      caption: { type: 'string', description: 'A short text that is shown with the file', maxLength: maxCaption },
    },
    required: ['path'],
    additionalProperties: false,
  },
  // It changes nothing, but what it sends leaves the computer.
  annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: true },
} as const

/** A block of a result, as MCP has it. */
type Content =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'resource_link'
      readonly uri: string
      readonly name: string
      readonly mimeType: string
      readonly size: number
      readonly description?: string
    }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string }

/** The result of a call. */
export interface SendFileResult {
  readonly content: Content[]
  readonly isError: boolean
  /**
   * Absent for a refusal. OpenCode 1 drops links from results, and passes this field on as the call's `metadata`. It has the shape of
   * OpenCode's own attachments.
   */
  readonly metadata?: { readonly attachments: readonly object[] }
  // MCP lets results have more fields, and the SDK's type requires that.
  readonly [field: string]: unknown
}

/** How a call of the tool is carried out. */
export interface SendFileOptions extends FileRules {
  /** Whether results have the content of the file, for people who can't get at the agent's files. */
  readonly embeds: boolean
  /** The name that the agent gave to MCP. Undefined if it gave none. */
  readonly client: string | undefined
}

/** The largest file whose content is in a result, in bytes: agents keep results in memory and in each of a session's events. */
export const maxEmbedded = 5_000_000

/** The pictures that agents take in a result. */
const pictures = /^image\/(?:png|jpeg|gif|webp)$/

/**
 * Checks the file, and resolves with a link to it, or with its content if that is embedded. Resolves with an error for the model if the
 * input is wrong or the file can't be sent.
 *
 * A link costs no tokens, while agents pass content on to the model: that of pictures, and other content makes some providers refuse
 * the whole prompt ("does not support media type text/csv"). Only OpenCode 1 passes on `metadata`, which no model gets.
 */
export async function sendFile(input: unknown, options: SendFileOptions): Promise<SendFileResult> {
  const { embeds, client } = options
  try {
    const { path, caption } = inputOf(input)
    const file = await openInProject(path, options)
    const pieces: Buffer[] = []
    try {
      await requireStable(file, embeds ? (piece) => pieces.push(piece) : undefined)
    } finally {
      await file.handle.close()
    }
    if (!embeds) return linkTo(file, caption)
    const content = Buffer.concat(pieces).toString('base64')
    return client === 'opencode' ? inMetadata(file, caption, content) : asPicture(file, content)
  } catch (error) {
    if (!(error instanceof FileRefusal)) throw error
    return { content: [{ type: 'text', text: error.message }], isError: true }
  }
}

/** Returns the result with a link to the file. */
function linkTo({ path, stats: { size } }: OpenedFile, caption: string | undefined): SendFileResult {
  const uri = pathToFileURL(path).href
  const name = basename(path)
  const mimeType = mimeTypeOf(path)
  const link = { uri, name, mimeType, size, ...(caption !== undefined && { description: caption }) }
  return {
    content: [
      { type: 'text', text: textFor(path, size) },
      { type: 'resource_link', ...link },
    ],
    metadata: { attachments: [attachmentOf(path, uri, size, caption)] },
    isError: false,
  }
}

/** Returns the result with the content where OpenCode 1 passes it on, and no model gets it. */
function inMetadata(
  { path, stats: { size } }: OpenedFile,
  caption: string | undefined,
  base64: string,
): SendFileResult {
  const url = `data:${mimeTypeOf(path)};base64,${base64}`
  return {
    content: [{ type: 'text', text: textFor(path, size) }],
    metadata: { attachments: [attachmentOf(path, url, size, caption)] },
    isError: false,
  }
}

/** Returns the result with a picture. Throws a `FileRefusal` for other files. */
function asPicture({ path, shown, stats: { size } }: OpenedFile, data: string): SendFileResult {
  const mimeType = mimeTypeOf(path)
  if (!pictures.test(mimeType))
    throw new FileRefusal(
      `The file ${shown} can't be sent: this agent passes on the content of pictures alone (PNG, JPEG, GIF, WebP).`,
    )
  return {
    content: [
      { type: 'text', text: textFor(path, size) },
      { type: 'image', data, mimeType },
    ],
    isError: false,
  }
}

/** What the model reads. */
function textFor(path: string, size: number): string {
  return sentFileText(basename(path), mimeTypeOf(path), byteSize(size))
}

/** An attachment as OpenCode has it. */
function attachmentOf(path: string, url: string, size: number, caption: string | undefined): object {
  const about = { mime: mimeTypeOf(path), url, filename: basename(path), size }
  return { type: 'file', ...about, ...(caption !== undefined && { caption }) }
}

/** Returns the input with its caption trimmed, if it has one. Throws a `FileRefusal` if the input is wrong. */
function inputOf(input: unknown): { readonly path: string; readonly caption: string | undefined } {
  const given: ReadonlyMap<string, unknown> = new Map(
    typeof input === 'object' && input !== null ? Object.entries(input) : [],
  )
  const path = given.get('path')
  const caption = given.get('caption') ?? ''
  if (typeof path !== 'string') throw new FileRefusal('Give the path of a file as a text.')
  if (typeof caption !== 'string') throw new FileRefusal('Give the caption as a text.')
  if (caption.length > maxCaption)
    throw new FileRefusal(`The caption has ${caption.length} characters. At most ${maxCaption} can be sent.`)
  return { path, caption: caption.trim() === '' ? undefined : caption.trim() }
}
