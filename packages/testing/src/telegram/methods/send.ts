import type { Content, Post, StoredFile } from '../chat.ts'
import { captionContent, richContent, rowsIn, textContent } from '../content.ts'
import { limits } from '../limits.ts'
import { flagIn, type Payload, textIn } from '../payload.ts'
import { badRequest, Refusal } from '../refusal.ts'
import { messageOf } from '../wire.ts'
import { putPost, repliedIn, spend, type Target, targetOf, type World } from '../world.ts'

export function sendMessage(world: World, payload: Payload): unknown {
  return send(world, payload, textContent(payload))
}

export function sendRichMessage(world: World, payload: Payload): unknown {
  return send(world, payload, richContent(payload))
}

export function sendDocument(world: World, payload: Payload): unknown {
  const document = documentIn(world, payload)
  return send(world, payload, captionContent(payload), document)
}

/** The Bot API itself refuses unreadable or unknown input; only calls passed on to Telegram use the budget. */
function send(world: World, payload: Payload, content: Content, document?: StoredFile): unknown {
  const rows = rowsIn(payload)
  const target = targetOf(world, payload)
  spend(world, target.chat)
  const replyTo = repliedIn(payload, target.chat)
  const isSilent = flagIn(payload, 'disable_notification')
  const post: Post = putPost(world, inTopicOf(target, replyTo), {
    from: 'bot',
    content,
    rows,
    isSilent,
    ...(document === undefined ? {} : { document }),
    ...(replyTo === undefined ? {} : { replyTo }),
  })
  return messageOf(post, target.chat, world.me)
}

/** A reply goes to the topic of the message that it replies to. */
function inTopicOf(target: Target, replyTo: number | undefined): Target {
  if (target.threadId !== undefined || replyTo === undefined) return target
  return { ...target, threadId: target.chat.posts.get(replyTo)?.threadId }
}

function documentIn({ files }: World, payload: Payload): StoredFile {
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
