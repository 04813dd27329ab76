import type { SteadyClock } from '@reply/core/source'
import type { Hearing } from '@reply/sink/channel'
import type { BridgeObserver } from '../events/emit.ts'

/** Which channels get what people write. */
export interface ChannelStatuses {
  /** Notes what a channel says of itself. */
  update(channel: string, hearing: Hearing): void
  /** A channel began to listen: it hears until it says otherwise. */
  started(channel: string): void
  /** By the channels' names. */
  all(): Readonly<Record<string, Hearing>>
}

export function createChannelStatuses(options: {
  readonly emit: BridgeObserver
  readonly onNotice: (notice: string) => void
  readonly clock: Pick<SteadyClock, 'wall'>
}): ChannelStatuses {
  const { emit, onNotice, clock } = options
  const states = new Map<string, Hearing>()
  return { update, started, all: () => Object.fromEntries(states) }

  function update(channel: string, hearing: Hearing): void {
    const before = states.get(channel)
    states.set(channel, hearing)
    if (hearing.status === 'deaf') {
      onNotice(`${channel} hears nothing, and tries again: ${hearing.reason}`)
      emit({ type: 'channel', at: clock.wall(), channel, status: 'deaf', reason: hearing.reason })
      return
    }
    if (before?.status === 'hearing') return
    if (before) onNotice(`${channel} hears its chats again.`)
    emit({ type: 'channel', at: clock.wall(), channel, status: 'hearing' })
  }

  function started(channel: string): void {
    if (!states.has(channel)) update(channel, { status: 'hearing' })
  }
}

/** Since when a channel hears nothing, and why. */
export function deafMessage(channel: string, { since, reason }: Extract<Hearing, { status: 'deaf' }>): string {
  return `${channel} hears nothing since ${new Date(since).toISOString()}: ${reason}`
}
