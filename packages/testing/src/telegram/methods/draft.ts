import type { Content } from '../chat.ts'
import { draftContent, richContent } from '../content.ts'
import { limits } from '../limits.ts'
import { flagIn, numberIn, type Payload, textIn } from '../payload.ts'
import { badRequest } from '../refusal.ts'
import { spend, spendTyping, targetOf, type World } from '../world.ts'

export function sendMessageDraft(world: World, payload: Payload): unknown {
  return draft(world, payload, draftContent(payload))
}

export function sendRichMessageDraft(world: World, payload: Payload): unknown {
  return draft(world, payload, richContent(payload))
}

function draft(world: World, payload: Payload, content: Content): unknown {
  const { chat, threadId } = targetOf(world, payload)
  const draftId = numberIn(payload, 'draft_id') ?? 0
  if (chat.type !== 'private') throw badRequest('TEXTDRAFT_PEER_INVALID')
  if (draftId === 0) throw badRequest('draft_id must be non-zero')
  spend(world, chat)
  chat.drafts.set(threadId, {
    draftId,
    content,
    until: world.clock.now() + limits.draftMs,
    canStop: flagIn(payload, 'can_stop'),
    keepOnStop: flagIn(payload, 'keep_on_stop'),
    ...(threadId === undefined ? {} : { threadId }),
  })
  world.changed(chat)
  return true
}

export function sendChatAction(world: World, payload: Payload): unknown {
  const action = textIn(payload, 'action') ?? ''
  if (!/^(typing|upload_\w+|record_\w+|choose_sticker|find_location)$/.test(action))
    throw badRequest('wrong parameter action in request')
  const { chat, threadId } = targetOf(world, payload)
  spendTyping(world, chat)
  if (action === 'typing') chat.typingUntil.set(threadId, world.clock.now() + limits.typingMs)
  world.changed(chat)
  return true
}
