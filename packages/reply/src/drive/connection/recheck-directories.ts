import type { Clock } from '../../clock.ts'
import { checkMs, maxTries, type Recheck } from './recheck.ts'
import type { Watching } from './watch.ts'

export interface RecheckDirectoriesOptions {
  readonly watching: Pick<Watching, 'atWork'>
  readonly recheck: Pick<Recheck, 'add'>
  readonly clock: Clock
}

/** Retries the directories that could not be listed when the connection came up. */
export interface RecheckDirectories {
  /** Sets from when on they may have missed events, by the server's clock; undefined if all of them were listed. */
  note(since: number | undefined): void
  unreadSince(): number | undefined
  /** The connection is up. */
  begin(): void
  stop(): void
}

export function createRecheckDirectories(options: RecheckDirectoriesOptions): RecheckDirectories {
  const { watching, recheck, clock } = options
  let unreadSince: number | undefined
  let isUp = false
  let stopTimer = (): void => {}
  return { note, unreadSince: () => unreadSince, begin, stop }

  function note(since: number | undefined): void {
    unreadSince = since
  }

  function begin(): void {
    isUp = true
    if (unreadSince !== undefined) schedule(unreadSince, 0)
  }

  function schedule(since: number, tries: number): void {
    stopTimer = clock.after(checkMs * 2 ** tries, () => void check(since, tries))
  }

  async function check(since: number, tries: number): Promise<void> {
    const { requests, isWhole } = await watching.atWork(since)
    if (!isUp || unreadSince !== since) return
    recheck.add(requests)
    if (isWhole) unreadSince = undefined
    else if (tries < maxTries) schedule(since, tries + 1)
  }

  function stop(): void {
    isUp = false
    stopTimer()
  }
}
