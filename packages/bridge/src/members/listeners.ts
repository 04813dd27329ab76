import type { Clock } from '@reply/core'
import type { BridgeConnection } from '@reply/sink/channel'
import { backOffMs } from '@reply/sink/internal'
import { toError } from '../error.ts'
import type { HeldLease } from './membership.ts'

/** Starts and stops the channels of this process. One with a single listener needs the lease `channel/<name>`. */
export interface Listeners {
  /** Returns the names of the leases on channels with a single listener. */
  names(): readonly string[]
  /** Starts the channel of a lease, once its earlier stop is done. */
  add(lease: HeldLease): void
  /** Stops the channel of a lease that another process has. */
  drop(lease: HeldLease): void
  /** Resolves when the channels of all leases of now are started. Rejects with the error of one that could not be started. */
  whenStarted(): Promise<void>
  /**
   * Starts the channels that every process may receive from, and checks the tokens of those that another process listens to.
   * Rejects if one can't be started, or if a platform refuses its token.
   */
  startOthers(): Promise<void>
  /** Stops all channels, and releases their leases. Rejects with the first error. */
  stopAll(): Promise<void>
}

/** The prefix of the names of the leases on channels. */
const prefix = 'channel/'

/** Creates the list of a process. It does nothing before `add` and `startOthers`. */
export function createListeners({
  connections,
  clock,
  onStarted,
  onElsewhere,
  onError,
}: {
  /** By the names of the channels. */
  readonly connections: ReadonlyMap<string, BridgeConnection>
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
  return {
    names: () => [...connections].flatMap(([name, one]) => (hasOneListener(one) ? [`${prefix}${name}`] : [])),
    add,
    drop: (lease) => void stopListening(lease).catch(onError),
    whenStarted: async () => void (await Promise.all([...listening.values()].map(({ started }) => started))),
    startOthers: async () =>
      void (await Promise.all(
        [...connections].map(async ([name, one]) => {
          if (listening.has(name)) return
          if (!hasOneListener(one)) return await start(name)
          await one.check()
          if (!listening.has(name)) onElsewhere(name)
        }),
      )),
    stopAll,
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

  /** Starts the channel of a lease. Tries again while that fails and the lease is held. */
  function add(lease: HeldLease): void {
    const channel = lease.name.slice(prefix.length)
    const started = inOrder(channel, async () => {
      if (lease.current() && !isStopped) await start(channel)
    })
    listening.set(channel, { lease, started })
    started.catch((error) => startAgain(lease, error, 0))
  }

  /** Starts a channel again after a pause, because a platform may be unreachable. Reports the error. */
  function startAgain(lease: HeldLease, error: unknown, failures: number): void {
    const channel = lease.name.slice(prefix.length)
    if (isStopped || !lease.current()) return
    onError(toError(error))
    clock.after(backOffMs(failures), () => {
      if (isStopped || !lease.current()) return
      inOrder(channel, async () => await start(channel)).catch((next) => startAgain(lease, next, failures + 1))
    })
  }

  /** Stops the channel of a lease. */
  async function stopListening({ name }: HeldLease): Promise<void> {
    const channel = name.slice(prefix.length)
    listening.delete(channel)
    await inOrder(channel, async () => await connections.get(channel)?.stop())
    if (!isStopped && !listening.has(channel)) onElsewhere(channel)
  }

  /** Stops all channels at the same time. Each lease is released once its channel receives nothing any more. */
  async function stopAll(): Promise<void> {
    isStopped = true
    const leases = new Map([...listening].map(([channel, { lease }]) => [channel, lease]))
    listening.clear()
    await Promise.all(
      [...connections].map(async ([channel, connection]) => {
        await inOrder(channel, async () => await connection.stop())
        await leases.get(channel)?.release()
      }),
    )
  }
}

/** Whether only one process may receive from a channel. */
function hasOneListener({ listens }: BridgeConnection): boolean {
  return listens === 'one'
}
