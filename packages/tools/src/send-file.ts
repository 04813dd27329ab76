import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
import { sentFileText } from '@reply/core/internal'
import { mimeTypeOf } from './mime-type.ts'
import { byteSize, FileRefusal, type FileRules, openInProject, requireStable } from './project-file.ts'

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

/**
 * Checks the file, and resolves with a link to it. The content itself is not in the result, because agents pass that on to the model.
 * Resolves with an error for the model if the input is wrong or the file can't be sent.
 */
export async function sendFile(input: unknown, rules: FileRules): Promise<SendFileResult> {
  try {
    const { path, caption } = inputOf(input)
    const file = await openInProject(path, rules)
    try {
      await requireStable(file)
    } finally {
      await file.handle.close()
    }
    return linkTo(file.path, file.stats.size, caption)
  } catch (error) {
    if (!(error instanceof FileRefusal)) throw error
    return { content: [{ type: 'text', text: error.message }], isError: true }
  }
}

/** Returns the result for a file that can be sent. */
function linkTo(path: string, size: number, caption: string | undefined): SendFileResult {
  const uri = pathToFileURL(path).href
  const name = basename(path)
  const mimeType = mimeTypeOf(path)
  const text = sentFileText(name, mimeType, byteSize(size))
  const link = { uri, name, mimeType, size, ...(caption !== undefined && { description: caption }) }
  const attachment = {
    type: 'file',
    mime: mimeType,
    url: uri,
    filename: name,
    size,
    ...(caption !== undefined && { caption }),
  }
  return {
    content: [
      { type: 'text', text },
      { type: 'resource_link', ...link },
    ],
    metadata: { attachments: [attachment] },
    isError: false,
  }
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
