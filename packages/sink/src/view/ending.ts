import { causeOf, partsOf, type Reply, type ReplyFailure, toolsOf } from '@reply/core'
import type { Card } from '../ledger/card.ts'
import { contextKey, doneKey, endingKey } from '../ledger/keys.ts'
import { clip, italic, literal, smallPrint } from './format.ts'
import { amount, contextPercent } from './numbers.ts'
import type { ViewOptions } from './view.ts'

/** How the reply ended. Nothing if the answer already says it. */
export function endingCards(reply: Reply, options: ViewOptions & { readonly hasText: boolean }): readonly Card[] {
  if (reply.outcome === undefined) return []
  const ending = endingOf(reply, options)
  const context = contextCard(reply, options)
  const done = ending ? undefined : doneCard(reply, options)
  return [ending, context, done].filter((card) => card !== undefined)
}

/** The chat knows that the run was stopped: the command that stopped it was answered, or a newer prompt followed. */
export function isKnownToChat({ outcome, aborting }: Reply, { policy }: Pick<ViewOptions, 'policy'>): boolean {
  return outcome === 'aborted' && aborting === 'requested' && policy.abortNotice === 'elsewhere'
}

function endingOf(reply: Reply, options: ViewOptions & { readonly hasText: boolean }): Card | undefined {
  const { texts, hasText } = options
  const { outcome } = reply
  switch (outcome) {
    case undefined:
      return undefined
    case 'completed': {
      // A prompt sent with no reply wanted has no messages, so it needs no ending.
      const isSilent = !hasText && reply.messages.length > 0
      // The note of the compaction says what was done.
      if (isSilent && reply.compaction?.state === 'done') return undefined
      if (isSilent) return card(texts.noText(factsOf(reply)), false)
      return reply.finish === 'length' ? card(texts.cutOff, false) : undefined
    }
    case 'failed':
      return card([texts.failed(reasonOf(reply.error)), cureOf(reply.error, texts)].filter(Boolean).join(' '), true)
    case 'timed-out':
      return card(texts.endings[outcome], true)
    case 'lost':
      return card(
        [texts.lost[reply.lostReason ?? 'end-not-seen'], hasText && texts.arrived].filter(Boolean).join(' '),
        true,
      )
    case 'aborted':
      return isKnownToChat(reply, options) ? undefined : card(texts.endings[outcome], false)
    case 'stopped':
      return card(texts.endings[outcome], false)
    default:
      return outcome satisfies never
  }
}

function card(text: string, isFailure: boolean): Card {
  const source = isFailure && text.trim() !== '' ? `⚠️ ${literal(text)}` : italic(text)
  return { type: 'ending', key: endingKey, source, isFailure }
}

function factsOf(reply: Reply): Parameters<ViewOptions['texts']['noText']>[0] {
  return {
    tools: toolsOf(reply).length,
    thought: partsOf(reply).some((part) => part.type === 'reasoning'),
    agents: reply.children.length,
  }
}

/** Shown once, after the answer. Skipped if the context has just been compacted. */
function contextCard(reply: Reply, { texts, policy, small }: ViewOptions): Card | undefined {
  const percent = contextPercent(reply)
  if (percent === undefined || percent < 60 || reply.compaction || policy.verbosity === 'quiet') return undefined
  const { contextTokens = 0, contextLimit = 0 } = reply.usage
  const facts = { percent, tokens: amount(contextTokens), limit: amount(contextLimit) }
  const text = percent < 80 ? texts.contextWarning(facts) : texts.contextUrgent(facts)
  return { type: 'note', key: contextKey, source: smallPrint(text, small) }
}

/** Edits don't notify, so a reply that took long ends with a new message. What is not all there is not called done. */
function doneCard(reply: Reply, { texts, policy, shown, mode }: ViewOptions): Card | undefined {
  const { startedAt, settledAt, outcome } = reply
  if (mode !== 'live' || outcome !== 'completed' || startedAt === undefined || settledAt === undefined) return undefined
  if (settledAt - startedAt <= policy.notifyAfterMs || reply.messages.length === 0) return undefined
  if (shown.isIncomplete && !shown.posted.has(doneKey)) return undefined
  const wasHeard = !shown.posted.has(doneKey) && (shown.loudAt ?? 0) >= settledAt
  return wasHeard
    ? undefined
    : {
        type: 'ending',
        key: doneKey,
        source: literal(texts.done(texts.elapsed(settledAt - startedAt))),
        isFailure: false,
      }
}

function reasonOf(error: ReplyFailure | undefined): string {
  if (!error) return 'no reason given.'
  const [line = ''] = error.message.split('\n')
  const reason = line.trim() === '' ? error.name : line.trim()
  const short = clip(reason, 300)
  return /[.!?…]$/.test(short) ? short : `${short}.`
}

function cureOf(error: ReplyFailure | undefined, { cures }: ViewOptions['texts']): string | undefined {
  if (!error) return undefined
  const cause = causeOf(error)
  if (cause) return cures[cause]
  return error.retryable ? cures.again : undefined
}
