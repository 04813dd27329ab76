import type { Content } from '../chat.ts'
import { draftContent, richContent } from '../content.ts'
import { limits } from '../limits.ts'
import { flagIn, numberIn, type Payload, textIn } from '../payload.ts'
import { badRequest } from '../refusal.ts'
import { spend, spendTyping, type TelegramState, targetOf } from '../state.ts'

export function sendMessageDraft(state: TelegramState, payload: Payload): unknown {
  return draft(state, payload, draftContent(payload))
}

export function sendRichMessageDraft(state: TelegramState, payload: Payload): unknown {
  return draft(state, payload, richContent(payload))
}

function draft(state: TelegramState, payload: Payload, content: Content): unknown {
  const { chat, threadId } = targetOf(state, payload)
  const draftId = numberIn(payload, 'draft_id') ?? 0
  if (chat.type !== 'private') throw badRequest('TEXTDRAFT_PEER_INVALID')
  if (draftId === 0) throw badRequest('draft_id must be non-zero')
  spend(state, chat)
  chat.drafts.set(threadId, {
    draftId,
    content,
    until: state.clock.now() + limits.draftMs,
    canStop: flagIn(payload, 'can_stop'),
    keepOnStop: flagIn(payload, 'keep_on_stop'),
    ...(threadId === undefined ? {} : { threadId }),
  })
  state.changed(chat)
  return true
}

export function sendChatAction(state: TelegramState, payload: Payload): unknown {
  const action = textIn(payload, 'action') ?? ''
  if (!/^(typing|upload_\w+|record_\w+|choose_sticker|find_location)$/.test(action))
    throw badRequest('wrong parameter action in request')
  const { chat, threadId } = targetOf(state, payload)
  spendTyping(state, chat)
  if (action === 'typing') chat.typingUntil.set(threadId, state.clock.now() + limits.typingMs)
  state.changed(chat)
  return true
}
