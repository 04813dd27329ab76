import type { Content, Post, StoredFile } from '../chat.ts'
import { captionContent, richContent, rowsIn, textContent } from '../content.ts'
import { limits } from '../limits.ts'
import { flagIn, type Payload, textIn } from '../payload.ts'
import { badRequest, Refusal } from '../refusal.ts'
import { putPost, repliedIn, spend, type Target, type TelegramState, targetOf } from '../state.ts'
import { messageOf } from '../wire.ts'

export function sendMessage(state: TelegramState, payload: Payload): unknown {
  return send(state, payload, textContent(payload))
}

export function sendRichMessage(state: TelegramState, payload: Payload): unknown {
  return send(state, payload, richContent(payload))
}

export function sendDocument(state: TelegramState, payload: Payload): unknown {
  const document = fileIn(state, payload, { field: 'document', most: limits.document })
  return send(state, payload, captionContent(payload), { document })
}

/** https://core.telegram.org/bots/api#sendphoto */
export function sendPhoto(state: TelegramState, payload: Payload): unknown {
  const photo = fileIn(state, payload, { field: 'photo', most: limits.photo })
  return send(state, payload, captionContent(payload), { photo })
}

/** The Bot API itself refuses unreadable or unknown input; only calls passed on to Telegram use the budget. */
function send(
  state: TelegramState,
  payload: Payload,
  content: Content,
  file: Pick<Post, 'document' | 'photo'> = {},
): unknown {
  const rows = rowsIn(payload)
  const target = targetOf(state, payload)
  spend(state, target.chat)
  const replyTo = repliedIn(payload, target.chat)
  const isSilent = flagIn(payload, 'disable_notification')
  const post: Post = putPost(state, inTopicOf(target, replyTo), {
    from: 'bot',
    content,
    rows,
    isSilent,
    ...file,
    ...(replyTo === undefined ? {} : { replyTo }),
  })
  return messageOf(post, target.chat, state.me)
}

/** A reply goes to the topic of the message that it replies to. */
function inTopicOf(target: Target, replyTo: number | undefined): Target {
  if (target.threadId !== undefined || replyTo === undefined) return target
  return { ...target, threadId: target.chat.posts.get(replyTo)?.threadId }
}

/** An upload, a known file's id, or an address, which Telegram itself would fetch. */
function fileIn(
  { files }: TelegramState,
  payload: Payload,
  { field, most }: { readonly field: 'document' | 'photo'; readonly most: number },
): StoredFile {
  const named = textIn(payload, field)
  const upload = payload.files.get(named?.replace(/^attach:\/\//, '') ?? field)
  const known = named === undefined ? undefined : files.get(named)
  if (!upload) {
    if (known) return known
    if (named && /^https?:\/\/\S+$/.test(named)) return { fileId: named, name: named, bytes: new Uint8Array() }
    throw badRequest(
      named === undefined ? `there is no ${field} in the request` : 'wrong file identifier/HTTP URL specified',
    )
  }
  if (upload.bytes.length === 0) throw badRequest('file must be non-empty')
  if (upload.bytes.length > most) throw new Refusal(413, 'Request Entity Too Large')
  const file = { ...upload, fileId: `file-${files.size + 1}` }
  files.set(file.fileId, file)
  return file
}
