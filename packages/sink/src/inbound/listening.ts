import type { BridgeConnection } from './bridge-channel.ts'

/** What a connection does in `check`, `start` and `stop`. */
export interface ListeningSteps {
  /** Checks the token with one call. Rejects only if the platform refuses it. */
  check(): Promise<void>
  /** Begins to receive. Rejects only if the platform refuses it. */
  begin(): void | Promise<void>
  /** Stops receiving, also while `begin` is pending or was never called. Resolves when all received actions are handled. */
  end(): Promise<void>
}

/**
 * Implements `check`, `start` and `stop` of a connection, so that a host can call them in any order and repeatedly: a second
 * `start` joins the first, a `stop` ends a `start` that is pending, and a `start` waits for a `stop` that is pending.
 */
export function createListening({
  check,
  begin,
  end,
}: ListeningSteps): Pick<BridgeConnection, 'check' | 'start' | 'stop'> {
  let current: { readonly abort: AbortController; readonly started: Promise<void> } | undefined
  let ended = Promise.resolve()
  return { check, start, stop }

  /** Begins to receive, unless it has begun. */
  function start(): Promise<void> {
    if (current) return current.started
    const abort = new AbortController()
    const started = beginUnlessAborted(abort.signal)
    current = { abort, started }
    return started
  }

  /** Begins after the last stop and a check. Begins nothing after the signal aborts. Stops again if it is refused. */
  async function beginUnlessAborted(signal: AbortSignal): Promise<void> {
    await ended
    try {
      await check()
      if (!signal.aborted) await begin()
    } catch (error) {
      if (!signal.aborted) await stop()
      throw error
    }
  }

  /** Stops receiving. Resolves or rejects as `end` does. */
  async function stop(): Promise<void> {
    current?.abort.abort()
    current = undefined
    const ending = end()
    ended = ending.catch(() => {})
    await ending
  }
}
