import type { PromptFile } from '@reply/core'
import { parseJson, Refusal } from '@reply/core/internal'
import { z } from 'zod'
import { fieldOf } from '../fields.ts'
import type { UIMessageLike } from '../project/projection.ts'

/** What a POST wants. */
export type ChatBody =
  | { readonly type: 'prompt'; readonly chatId: string; readonly text: string; readonly files: readonly PromptFile[] }
  /** `json` is the whole body, for `readAnswers`. `have` is the message that the browser goes on with. */
  | {
      readonly type: 'answers'
      readonly chatId: string
      readonly json: unknown
      readonly have: UIMessageLike | undefined
    }

/** More characters than any id that a front end makes. */
const maxIdLength = 512

/** How many messages, parts and answers a body may have: more than the longest conversation, and little enough to read each. */
const maxItems = 10_000

const bodySchema = z.object({
  id: z.string().min(1).max(maxIdLength),
  messages: z.array(z.unknown()).max(maxItems).default([]),
  trigger: z.string().optional(),
  messageId: z.string().nullish(),
  answers: z.array(z.unknown()).max(maxItems).optional(),
})

const messageSchema = z.object({
  id: z.string().optional(),
  role: z.string(),
  parts: z.array(z.unknown()).max(maxItems).default([]),
})

const textSchema = z.object({ type: z.literal('text'), text: z.string() })

const fileSchema = z.object({
  type: z.literal('file'),
  mediaType: z.string().max(255).optional(),
  filename: z.string().nullish(),
  url: z.string(),
})

/**
 * Reads the body of a POST as `DefaultChatTransport` sends it. Takes the text and the files of the last message if a
 * person wrote it, and nothing else of the history. Throws a `Refusal` for anything else than a prompt or answers.
 */
export function readChatBody(text: string): ChatBody {
  const json = parseJson(text)
  const body = bodySchema.safeParse(json)
  if (!body.success)
    throw new Refusal(
      400,
      `The body has another shape than { id, messages }, which DefaultChatTransport sends, or more than ${maxItems} messages.`,
    )
  const { id: chatId, messages, trigger, messageId, answers } = body.data
  if (trigger === 'regenerate-message')
    throw new Refusal(400, "An agent's answer can't be generated anew, because its work is done. Send a new message.")
  const last = messageOf(messages.at(-1))
  if (last?.role !== 'user' || (answers !== undefined && answers.length > 0))
    return { type: 'answers', chatId, json, have: assistantMessage(messages, messageId ?? undefined) }
  const prompt = promptOf(last.parts)
  if (prompt.text.trim() === '' && prompt.files.length === 0)
    throw new Refusal(400, 'The last message has neither text nor files. Send a message with text.')
  return { type: 'prompt', chatId, ...prompt }
}

/** The message that the front end adds the rest to: the named one, or else the last one, if the assistant wrote it. */
function assistantMessage(messages: readonly unknown[], messageId: string | undefined): UIMessageLike | undefined {
  const named = messageId === undefined ? undefined : messages.findLast((each) => fieldOf(each, 'id') === messageId)
  const { id, role, parts } = messageOf(fieldOf(named, 'role') === 'assistant' ? named : messages.at(-1)) ?? {}
  return role === 'assistant' && id !== undefined && parts ? { id, parts } : undefined
}

/** Undefined without a value. Throws a `Refusal` for something that is not a message. */
function messageOf(value: unknown): z.infer<typeof messageSchema> | undefined {
  if (value === undefined) return undefined
  const message = messageSchema.safeParse(value).data
  if (!message)
    throw new Refusal(400, `A message has another shape than { role, parts }, or more than ${maxItems} parts.`)
  return message
}

/** The texts, joined with a blank line, and the files of a message. Other parts are not for the agent. */
function promptOf(parts: readonly unknown[]): { readonly text: string; readonly files: readonly PromptFile[] } {
  const ofType = (type: string): readonly unknown[] => parts.filter((part) => fieldOf(part, 'type') === type)
  return { text: ofType('text').map(textOfPart).join('\n\n'), files: ofType('file').map(fileOf) }
}

function textOfPart(part: unknown): string {
  const text = textSchema.safeParse(part).data?.text
  if (text === undefined) throw new Refusal(400, 'A text of the message has no "text".')
  return text
}

/** A type, parameters and base64, as `FileReader.readAsDataURL` writes it. Only the beginning is matched. */
const dataUrl = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w.-]+=[\w.-]+)*;base64,/i

/** A type without its parameters, and without all else that a body may have there. */
const mediaType = /^[\w.+-]+\/[\w.+-]+/

/**
 * The file of a message. Its content must be in its URL: the agent would read a path or an address with its own rights,
 * not with those of the person who names it.
 */
function fileOf(part: unknown): PromptFile {
  const file = fileSchema.safeParse(part).data
  if (!file) throw new Refusal(400, 'A file of the message has no URL. Send it as a data: URL.')
  const [start, type] = dataUrl.exec(file.url.slice(0, 1024)) ?? []
  if (start === undefined)
    throw new Refusal(400, 'Only files with a base64 data: URL are taken, no addresses and no paths. Send its content.')
  const mime = type ?? mediaType.exec(file.mediaType ?? '')?.[0] ?? 'application/octet-stream'
  return { url: file.url, mime: mime.toLowerCase(), filename: nameOf(file.filename ?? undefined) }
}

/** The last step of a name that may be a path, at most 255 characters. Undefined for none. */
function nameOf(filename: string | undefined): string | undefined {
  const name = filename?.split(/[/\\]/).at(-1)?.slice(0, 255)
  return name === '' ? undefined : name
}

/** The chat's id in the path of a GET, which ends with `/<id>/stream`, or of a DELETE, where `/stream` may be absent. */
export function chatIdIn(request: Request): string {
  const steps = new URL(request.url).pathname.split('/').filter((step) => step !== '')
  const isStream = steps.at(-1) === 'stream'
  if (request.method === 'GET' && !isStream)
    throw new Refusal(404, 'There is nothing to read here. A running reply is at …/<chat id>/stream.')
  const chatId = decoded(steps.at(isStream ? -2 : -1) ?? '')
  if (chatId === undefined || chatId === '' || chatId.length > maxIdLength)
    throw new Refusal(400, 'The path has no valid chat id. It ends with /<chat id>/stream.')
  return chatId
}

function decoded(step: string): string | undefined {
  try {
    return decodeURIComponent(step)
  } catch {
    return undefined
  }
}
