import type { Clock } from '@reply/core'
import type { BridgeConnection } from '@reply/sink/channel'
import { backOffMs } from '@reply/sink/internal'
import { toError } from '../error.ts'
import type { HeldLease } from './membership.ts'

/**
 * Starts and stops the channels of this process. One with a single listener needs the lease `channel/<name>`. Those that post
 * only where they listen need the lease of their chats' shard.
 */
export interface Listeners {
  /** Returns the names of the leases on channels with a single listener. */
  names(): readonly string[]
  /** Starts the channels of a lease, once their earlier stop is done. */
  add(lease: HeldLease): void
  /** Stops the channels of a lease that another process has. */
  drop(lease: HeldLease): void
  /** Stops the channels of a lease, and releases it once they receive nothing any more. Rejects with the first error. */
  release(lease: HeldLease): Promise<void>
  /**
   * Stops the channels that post only where they listen, while this process may make no calls: another one is about to take
   * them over, and would be disconnected whenever this one connects again.
   */
  pause(): void
  /** Starts them again, unless another process has them. */
  resume(): void
  /** Resolves when the channels of all leases of now are started. Rejects with the error of one that could not be started. */
  whenStarted(): Promise<void>
  /** Checks the tokens of all channels at the same time. Rejects with the first one that its platform refuses. */
  checkTokens(): Promise<void>
  /** Starts the channels that every process may receive from. Rejects if a platform refuses the token of one. */
  startOthers(): Promise<void>
  /** Stops all channels, and releases their leases. Rejects with the first error. */
  stopAll(): Promise<void>
}

/** The prefix of the names of the leases on channels. */
const prefix = 'channel/'

/** Creates the list of a process. It does nothing before `add` and `startOthers`. */
export function createListeners({
  connections,
  chatsLeaseName,
  clock,
  onStarted,
  onElsewhere,
  onError,
}: {
  /** By the names of the channels. */
  readonly connections: ReadonlyMap<string, BridgeConnection>
  /** The name of the lease on the chats of channels that post only where they listen. */
  readonly chatsLeaseName: string
  readonly clock: Clock
  /** Called with the name of a channel that was started. */
  readonly onStarted: (channel: string) => void
  /** Called with the name of a channel that another process is to listen to. */
  readonly onElsewhere: (channel: string) => void
  readonly onError: (error: Error) => void
}): Listeners {
  /** By channel: its lease, and when its start is done. */
  const listening = new Map<string, { readonly lease: HeldLease; readonly started: Promise<void> }>()
  /** By channel: resolves when its last start or stop is done. */
  const last = new Map<string, Promise<void>>()
  let isStopped = false
  let isPaused = false
  return {
    names: () => [...new Set([...connections.keys()].flatMap((channel) => leaseNameOf(channel) ?? []))],
    add: (lease) => {
      // Only a process that may make calls takes leases.
      isPaused = false
      for (const channel of channelsOf(lease)) startListening(channel, lease)
    },
    drop: (lease) => void stopListening(lease).catch(onError),
    release,
    pause,
    resume,
    whenStarted: async () => void (await Promise.all([...listening.values()].map(({ started }) => started))),
    checkTokens: async () => void (await Promise.all([...connections.values()].map(async (one) => await one.check()))),
    startOthers: async () =>
      void (await Promise.all(
        [...connections.keys()].map(async (name) => {
          if (listening.has(name)) return
          if (leaseNameOf(name) === undefined) await start(name)
          else onElsewhere(name)
        }),
      )),
    stopAll,
  }

  /** Returns the name of the lease that a channel needs. Undefined if every process may receive from it. */
  function leaseNameOf(channel: string): string | undefined {
    if (postsAtListener(channel)) return chatsLeaseName
    return connections.get(channel)?.listens === 'one' ? `${prefix}${channel}` : undefined
  }

  /** Whether a channel posts only where it listens. */
  function postsAtListener(channel: string): boolean {
    return connections.get(channel)?.posts === 'listener'
  }

  /** Returns the channels that need a lease. */
  function channelsOf({ name }: HeldLease): readonly string[] {
    return [...connections.keys()].filter((channel) => leaseNameOf(channel) === name)
  }

  /** Runs a start or stop of a channel after those before it. */
  function inOrder(channel: string, task: () => Promise<void>): Promise<void> {
    const done = (last.get(channel) ?? Promise.resolve()).then(task)
    last.set(
      channel,
      done.catch(() => {}),
    )
    return done
  }

  /** Starts a channel. */
  async function start(channel: string): Promise<void> {
    await connections.get(channel)?.start()
    onStarted(channel)
  }

  /** Stops a channel. */
  async function stop(channel: string): Promise<void> {
    await inOrder(channel, async () => await connections.get(channel)?.stop())
  }

  /** Starts a channel under a lease. Tries again while that fails and the lease is held. */
  function startListening(channel: string, lease: HeldLease): void {
    const started = inOrder(channel, async () => {
      if (mayStart(channel, lease)) await start(channel)
    })
    listening.set(channel, { lease, started })
    started.catch((error) => startAgain(channel, lease, error, 0))
  }

  /** Starts a channel again after a pause, because a platform may be unreachable. Reports the error. */
  function startAgain(channel: string, lease: HeldLease, error: unknown, failures: number): void {
    if (!mayStart(channel, lease)) return
    onError(toError(error))
    clock.after(backOffMs(failures), () => {
      if (!mayStart(channel, lease)) return
      inOrder(channel, async () => await start(channel)).catch((next) => startAgain(channel, lease, next, failures + 1))
    })
  }

  /** Whether a channel may be started under a lease. */
  function mayStart(channel: string, lease: HeldLease): boolean {
    return !isStopped && lease.current() !== undefined && !(isPaused && postsAtListener(channel))
  }

  function pause(): void {
    isPaused = true
    for (const channel of listening.keys()) if (postsAtListener(channel)) void stop(channel).catch(onError)
  }

  function resume(): void {
    isPaused = false
    for (const [channel, { lease }] of [...listening]) if (postsAtListener(channel)) startListening(channel, lease)
  }

  /** Stops the channels of a lease, unless they were stopped or have another lease. */
  async function stopListening(lease: HeldLease): Promise<void> {
    await Promise.all(
      channelsOf(lease).map(async (channel) => {
        if (listening.get(channel)?.lease !== lease) return
        listening.delete(channel)
        await stop(channel)
        if (!isStopped && !listening.has(channel)) onElsewhere(channel)
      }),
    )
  }

  /** Stops the channels of a lease, and releases it. */
  async function release(lease: HeldLease): Promise<void> {
    await stopListening(lease)
    await lease.release()
  }

  /** Stops all channels at the same time, and releases their leases. */
  async function stopAll(): Promise<void> {
    isStopped = true
    const leases = new Set([...listening.values()].map(({ lease }) => lease))
    const others = [...connections.keys()].filter((channel) => !listening.has(channel))
    await Promise.all([...[...leases].map(release), ...others.map(stop)])
  }
}
