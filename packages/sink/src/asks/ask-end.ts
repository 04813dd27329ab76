import type { Ask } from '@reply/core'
import type { AskState } from '../ledger/card.ts'
import type { Texts } from '../texts.ts'

/** Returns how an ask ended. An ask that is still pending counts as withdrawn. */
export function askEndText(ask: Ask, state: AskState, texts: Texts): string {
  switch (ask.status) {
    case 'rejected':
      return texts.refused(state.by)
    case 'pending':
    case 'withdrawn':
      return typeof texts.withdrawn === 'string' ? texts.withdrawn : texts.withdrawn(ask, state.by)
    case 'answered':
      if (ask.type === 'question') return texts.answered((ask.answers ?? state.answers).flat().join(', '), state.by)
      if (ask.reply === 'reject') return texts.refused(state.by)
      return texts.answered(ask.reply === 'always' ? texts.allowedAlways : texts.allowOnce, state.by)
    default:
      return ask.status satisfies never
  }
}

/**
 * Returns what a person is told whose answer came too late: how the ask ended, and who answered it, if that was in a chat. Some
 * platforms keep the buttons of a message forever, so that is the only place where people read it.
 */
export function resolvedText(ask: Ask, state: AskState, texts: Texts): string {
  if (ask.status === 'pending') return texts.alreadyResolved
  const end = askEndText(ask, state, texts)
  return ask.status === 'withdrawn' ? `${texts.alreadyResolved} ${end}` : texts.alreadyResolvedAs(end, state.by)
}
