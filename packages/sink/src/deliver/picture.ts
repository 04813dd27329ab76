import type { Reply } from '@reply/core'
import type { SecretOf } from '../asks/token.ts'
import { layout } from '../layout/layout.ts'
import type { Slot } from '../layout/slot.ts'
import { mayAllow } from '../ledger/guard.ts'
import { type GrowingText, type Ledger, shownOf } from '../ledger/ledger.ts'
import { defaultFileLimits } from '../port/limits.ts'
import { createActivityTimes } from '../view/status.ts'
import { type Mode, type View, view } from '../view/view.ts'
import type { DelivererOptions } from './deliver.ts'
import type { NativeDelivery } from './streaming.ts'

/** The messages that the chat should show. */
export interface Picture extends Omit<View, 'cards' | 'flow'> {
  readonly slots: readonly Slot[]
}

/** What a picture depends on besides the reply and the ledger. */
interface Scene {
  readonly now: number
  /** Another reply's permission has to be answered first. */
  readonly isBlocked: boolean
  /** The text that an earlier process was showing when it ended. */
  readonly former: GrowingText | undefined
}

/** Computes the picture of a reply for one chat. */
export type Painter = (reply: Reply, ledger: Ledger, scene: Scene) => Picture

/**
 * Returns a function that computes the messages of a reply for one chat. Its only state is when the newest activity began.
 */
export function createPainter(options: DelivererOptions, secretOf: SecretOf, native: NativeDelivery): Painter {
  const { port, render, chat, policy, texts, label } = options
  const mode = modeOf(options)
  const edits = canEditIn(options)
  const times = createActivityTimes()
  return (reply, ledger, { now, isBlocked, former }) => {
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
      page: options.page,
      origin: options.origin,
      hidesAllButAsks: options.shows?.() === 'asks',
      joinedPrompt: options.joinedPrompt,
      isQuiet: options.isQuiet?.(),
      activitySince: (activity) => times.since(activity, now),
      uploads: port.upload !== undefined,
      diff: options.diff,
      former,
      album: port.uploadAlbum && (limits.files ?? defaultFileLimits).perPost,
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

/** Returns how text reaches the chat. For the policies `edit` and `native`: `live` if messages can be edited, or `sealed`. */
export function modeOf({ port, policy }: Pick<DelivererOptions, 'port' | 'policy'>): Mode {
  if (policy.delivery === 'final' || policy.delivery === 'append') return policy.delivery
  return port.edit && port.limits.edits ? 'live' : 'sealed'
}

/** Whether the sink edits messages of this chat. */
export function canEditIn({ port, policy }: Pick<DelivererOptions, 'port' | 'policy'>): boolean {
  return port.edit !== undefined && port.limits.edits && policy.delivery !== 'append'
}
