import type { Reply } from '@reply/core'
import type { SecretOf } from '../asks/token.ts'
import { layout } from '../layout/layout.ts'
import type { Slot } from '../layout/slot.ts'
import { mayAllow } from '../ledger/guard.ts'
import { type Ledger, shownOf } from '../ledger/ledger.ts'
import { createActivityTimes } from '../view/status.ts'
import { type Mode, type View, view } from '../view/view.ts'
import type { DeliverOptions } from './deliver.ts'
import type { Native } from './streaming.ts'

export interface PictureOptions extends DeliverOptions {
  readonly secretOf: SecretOf
  readonly mode: Mode
  readonly native: Native
  readonly ledger: Ledger
  readonly now: number
  readonly canEdit: boolean
  readonly isBlocked: boolean
}

/** What the chat should show, as messages. */
export interface Picture extends Omit<View, 'cards' | 'flow'> {
  readonly slots: readonly Slot[]
}

/** View and layout of a reply for one chat. Remembers only since when the newest activity goes on. */
export function createPainter(): (reply: Reply, options: PictureOptions) => Picture {
  const times = createActivityTimes()
  return (reply, options) => {
    const {
      port,
      render,
      chat,
      policy,
      texts,
      label,
      secretOf,
      mode,
      native,
      ledger,
      now,
      canEdit: edits,
      isBlocked,
    } = options
    const { limits } = port
    const { buttons, forms, typingHasStatus, small } = limits
    const rings = limits.silent === false
    const { streaming: stream } = native
    const shown = shownOf(ledger)
    const { cards, flow, ...rest } = view(reply, {
      policy,
      texts,
      mode,
      now,
      shown,
      secretOf,
      buttons,
      forms,
      edits,
      typingHasStatus,
      rings,
      isBlocked,
      small,
      label,
      activitySince: (activity) => times.since(activity, now),
      uploads: port.upload !== undefined,
      mayAllow: (state) => mayAllow(state, options),
      isStreaming: stream !== undefined,
    })
    const { appendLength } = policy
    const streaming = stream && { stream, flow }
    // In a private chat each message notifies the only person there.
    const mentions = chat.kind === 'private' ? undefined : options.mentions
    const slots = layout(cards, { render, limits, mode, appendLength, texts, ledger, now, mentions, streaming })
    return { slots, ...rest }
  }
}

/** How text reaches the chat. */
export function modeOf({ port, policy }: Pick<DeliverOptions, 'port' | 'policy'>): Mode {
  if (policy.delivery === 'final' || policy.delivery === 'append') return policy.delivery
  return port.edit && port.limits.edits ? 'live' : 'sealed'
}
