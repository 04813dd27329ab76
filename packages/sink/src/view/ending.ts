import { isShownText, partsOf, type Reply, totalUsage } from '@reply/core'
import { amount, changesOf, contextPercent, countChanges, endingOf } from '@reply/core/show'
import type { Card } from '../ledger/card.ts'
import { changesKey, contextKey, doneKey, endingKey, stoppedKey } from '../ledger/keys.ts'
import type { Button } from '../port/port.ts'
import { filesToShow } from './attachment.ts'
import { clip, italic, literal, pageLink, smallPrint } from './format.ts'
import type { ViewOptions } from './view.ts'

/**
 * Returns the cards of a settled reply: how it ended if the chat doesn't show that yet, a note about a full context, and
 * without an ending that it is done. Empty until it has settled.
 */
export function endingCards(reply: Reply, options: ViewOptions): readonly Card[] {
  if (reply.outcome === undefined) return []
  const ending = endingCard(reply, options)
  const context = contextCard(reply, options)
  const done = ending ? undefined : doneCard(reply, options)
  // The message at the end says it, unless the line is there already.
  const changes = done && !options.shown.posted.has(changesKey) ? undefined : changesCard(reply, options)
  return [ending, stoppedCard(reply, options), changes, context, done].filter((card) => card !== undefined)
}

/** Whether the chat already shows that the run was stopped, by the reply to the command or a newer prompt. */
export function isKnownToChat({ outcome, aborting }: Reply, { policy }: Pick<ViewOptions, 'policy'>): boolean {
  return outcome === 'aborted' && aborting === 'requested' && policy.abortNotice !== 'always'
}

/**
 * Returns the line below the answer that says that people of the chat stopped it. Undefined without an answer, and where no message
 * can be edited: the line is not worth a message.
 */
function stoppedCard(reply: Reply, options: ViewOptions): Card | undefined {
  const { texts, policy, mode, small } = options
  if (policy.abortNotice !== 'below' || mode !== 'live' || !isKnownToChat(reply, options)) return undefined
  if (!partsOf(reply).some(isShownText)) return undefined
  return { type: 'note', key: stoppedKey, source: smallPrint(texts.stoppedHere, small) }
}

/** Returns a card that says how the reply ended. Undefined if the answer or the chat already shows it. */
function endingCard(reply: Reply, options: ViewOptions): Card | undefined {
  const { texts } = options
  const ending = endingOf(reply)
  switch (ending?.type) {
    case undefined:
      return undefined
    case 'completed': {
      // Files may be the whole answer.
      if (ending.noText && filesToShow(reply, options.policy).length > 0) return undefined
      if (ending.noText) return endingCardWith(texts.noText(ending.noText), false)
      return ending.isCutOff ? endingCardWith(texts.cutOff, false) : undefined
    }
    case 'failed': {
      const { reason = 'no reason given', cure } = ending
      return endingCardWith(
        [texts.failed(asSentence(reason)), cure && texts.cures[cure]].filter(Boolean).join(' '),
        true,
      )
    }
    case 'timed-out':
      return endingCardWith(texts.endings[ending.type], true)
    case 'lost':
      return endingCardWith([texts.lost[ending.why], ending.hasText && texts.arrived].filter(Boolean).join(' '), true)
    case 'aborted':
      return isKnownToChat(reply, options) ? undefined : endingCardWith(texts.endings[ending.type], false)
    case 'stopped':
      return endingCardWith(texts.stopped(ending.why), false)
    default:
      return ending satisfies never
  }
}

/** Returns the ending with this text: with a warning sign for a failure, otherwise in italics. Blank for a blank text. */
function endingCardWith(text: string, isFailure: boolean): Card {
  const source = isFailure && text.trim() !== '' ? `⚠️ ${literal(text)}` : italic(text)
  return { type: 'ending', key: endingKey, source, isFailure }
}

/** Returns a note from 60 percent on. Undefined if this run compacted the context, and with `quiet`. */
function contextCard(reply: Reply, { texts, policy, small }: ViewOptions): Card | undefined {
  const percent = contextPercent(reply)
  if (percent === undefined || percent < 60 || reply.compaction || policy.verbosity === 'quiet') return undefined
  const { contextTokens = 0, contextLimit = 0 } = reply.usage
  const facts = { percent, tokens: amount(contextTokens), limit: amount(contextLimit) }
  const text = percent < 80 ? texts.contextWarning(facts) : texts.contextUrgent(facts)
  return { type: 'note', key: contextKey, source: smallPrint(text, small) }
}

/**
 * Returns the line with the files that the run changed and the link to its page. Undefined if it changed none and there is no
 * page, and with `quiet`. The link alone is not worth a message, so it only stands where messages are edited.
 */
function changesCard(reply: Reply, options: ViewOptions): Card | undefined {
  if (options.policy.verbosity === 'quiet') return undefined
  const text = changesText(reply, options)
  const hasChanges = text.trim() !== ''
  if (!hasChanges && options.mode !== 'live') return undefined
  const source = [smallPrint(text, options.small), pageLink(options)].filter(Boolean).join(' · ')
  if (source === '') return undefined
  return { type: 'note', key: changesKey, source, buttons: hasChanges ? diffButtons(options) : [] }
}

/** Returns the text about the changed files. Empty if there are none. */
function changesText(reply: Reply, { texts, diff, buttons }: ViewOptions): string {
  const counts = countChanges(changesOf(reply))
  return counts.files === 0 ? '' : texts.changes(counts, buttons ? undefined : diff?.command)
}

/** Returns the button that sends the session's diff. No rows if the host has none, or the platform has no buttons. */
function diffButtons({ texts, diff, buttons }: ViewOptions): readonly (readonly Button[])[] {
  return diff && buttons ? [[{ label: texts.showDiff, data: diff.data }]] : []
}

/**
 * Returns the message that notifies at the end of a long reply, because edits don't notify. Undefined unless the reply
 * completed after more than `notifyAfterMs`, in mode `live`, and the whole of it is in the chat. Undefined also if another
 * message has notified since the end, or nothing may notify.
 */
function doneCard(reply: Reply, options: ViewOptions): Card | undefined {
  const { texts, policy, shown, mode } = options
  const { startedAt, settledAt, outcome } = reply
  if (mode !== 'live' || outcome !== 'completed' || startedAt === undefined || settledAt === undefined) return undefined
  if (settledAt - startedAt <= policy.notifyAfterMs || reply.messages.length === 0) return undefined
  if ((shown.isIncomplete || options.isQuiet) && !shown.posted.has(doneKey)) return undefined
  if (!shown.posted.has(doneKey) && (shown.loudAt ?? 0) >= settledAt) return undefined
  const changes = shown.posted.has(changesKey) ? '' : changesText(reply, options)
  const text = texts.done(texts.elapsed(settledAt - startedAt), { changes, cost: totalUsage(reply).cost })
  const buttons = changes === '' ? [] : diffButtons(options)
  const source = [literal(text), pageLink(options)].filter(Boolean).join(' ')
  return { type: 'ending', key: doneKey, source, isFailure: false, buttons }
}

/** Clips the text to 300 UTF-16 units, and ends it with a full stop unless a sentence ends there. */
function asSentence(reason: string): string {
  const short = clip(reason, 300)
  return /[.!?…]$/.test(short) ? short : `${short}.`
}
