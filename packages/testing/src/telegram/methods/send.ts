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
  const document = documentIn(state, payload)
  return send(state, payload, captionContent(payload), document)
}

/** The Bot API itself refuses unreadable or unknown input; only calls passed on to Telegram use the budget. */
function send(state: TelegramState, payload: Payload, content: Content, document?: StoredFile): unknown {
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
    ...(document === undefined ? {} : { document }),
    ...(replyTo === undefined ? {} : { replyTo }),
  })
  return messageOf(post, target.chat, state.me)
}

/** A reply goes to the topic of the message that it replies to. */
function inTopicOf(target: Target, replyTo: number | undefined): Target {
  if (target.threadId !== undefined || replyTo === undefined) return target
  return { ...target, threadId: target.chat.posts.get(replyTo)?.threadId }
}

function documentIn({ files }: TelegramState, payload: Payload): StoredFile {
  const named = textIn(payload, 'document')
  const upload = payload.files.get(named?.replace(/^attach:\/\//, '') ?? 'document')
  const known = named === undefined ? undefined : files.get(named)
  if (!upload) {
    if (known) return known
    throw badRequest(
      named === undefined ? 'there is no document in the request' : 'wrong file identifier/HTTP URL specified',
    )
  }
  if (upload.bytes.length === 0) throw badRequest('file must be non-empty')
  if (upload.bytes.length > limits.document) throw new Refusal(413, 'Request Entity Too Large')
  const document = { ...upload, fileId: `file-${files.size + 1}` }
  files.set(document.fileId, document)
  return document
}
