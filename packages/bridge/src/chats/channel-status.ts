import type { SteadyClock } from '@reply/core/source'
import type { InboundStatus } from '@reply/sink/channel'
import type { BridgeObserver } from '../events/emit.ts'

/** The status of each channel: whether it receives messages. */
export interface ChannelStatuses {
  /** Stores the status that a channel reported. Emits an event and a notice, unless the channel was receiving and still is. */
  setStatus(channel: string, status: InboundStatus): void
  /** Call it when a channel started. It counts as receiving until it reports otherwise. */
  markStarted(channel: string): void
  /** Returns the status of each channel that started, by its name. */
  all(): Readonly<Record<string, InboundStatus>>
}

/** Keeps the statuses in memory, with the times of the computer's clock in events. */
export function createChannelStatuses(options: {
  readonly emit: BridgeObserver
  readonly onNotice: (notice: string) => void
  readonly clock: Pick<SteadyClock, 'wall'>
}): ChannelStatuses {
  const { emit, onNotice, clock } = options
  const states = new Map<string, InboundStatus>()
  return { setStatus, markStarted, all: () => Object.fromEntries(states) }

  /**
   * Stores the status, and emits an event and a notice. Only stores it if the channel was receiving and still is. The first
   * status of a channel makes no notice if it is receiving.
   */
  function setStatus(channel: string, status: InboundStatus): void {
    const before = states.get(channel)
    states.set(channel, status)
    if (status.status === 'disconnected') {
      onNotice(`${channel} receives nothing, and retries: ${status.reason}`)
      emit({ type: 'channel', at: clock.wall(), channel, status: 'disconnected', reason: status.reason })
      return
    }
    if (before?.status === 'receiving') return
    if (before) onNotice(`${channel} receives messages again.`)
    emit({ type: 'channel', at: clock.wall(), channel, status: 'receiving' })
  }

  /** Sets the status to `receiving`, with an event. Does nothing if the channel already reported a status. */
  function markStarted(channel: string): void {
    if (!states.has(channel)) setStatus(channel, { status: 'receiving' })
  }
}

/** Returns a sentence with the time since when a channel has received nothing, and the reason. */
export function disconnectedMessage(
  channel: string,
  { since, reason }: Extract<InboundStatus, { status: 'disconnected' }>,
): string {
  return `${channel} has received nothing since ${new Date(since).toISOString()}: ${reason}`
}
