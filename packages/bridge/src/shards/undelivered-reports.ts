import type { SteadyClock } from '@reply/core/source'
import type { MessageRef } from '@reply/sink'
import type { ChatPlace } from '../place.ts'
import type { Shard } from './shard.ts'

/** What passes on the reports of messages that a platform did not deliver, in one process. */
export interface UndeliveredReports {
  /**
   * Passes a report to the shard of its chat. If that takes no messages here, keeps the report, because this process may be about to
   * take over or restore the shard, and the channel does not tell twice. An owner elsewhere learns of it by itself, see `Facts`.
   */
  add(shard: string, place: ChatPlace, message: MessageRef): void
  /** Passes the kept reports of a shard to it. Call it once the shard takes messages. */
  passTo(shard: Pick<Shard, 'name' | 'showUndelivered'>): void
}

/** How long a report is kept, in ms: an owner that was killed is replaced within that time. */
const keptMs = 60_000
/** How many reports are kept. The oldest are dropped. */
const mostKept = 1000

interface Kept {
  readonly shard: string
  readonly place: ChatPlace
  readonly message: MessageRef
  readonly until: number
}

/** Creates what passes on the reports of a process. `find` returns a shard that takes messages. */
export function createUndeliveredReports({
  find,
  clock,
  onError,
}: {
  readonly find: (shard: string) => Pick<Shard, 'showUndelivered'> | undefined
  readonly clock: SteadyClock
  readonly onError: (error: Error) => void
}): UndeliveredReports {
  let kept: readonly Kept[] = []
  return { add, passTo }

  function add(shard: string, place: ChatPlace, message: MessageRef): void {
    const owner = find(shard)
    if (owner) void owner.showUndelivered(place, message).catch(onError)
    else kept = [...current(), { shard, place, message, until: clock.monotonic() + keptMs }].slice(-mostKept)
  }

  function passTo({ name, showUndelivered }: Parameters<UndeliveredReports['passTo']>[0]): void {
    const all = current()
    kept = all.filter(({ shard }) => shard !== name)
    for (const { shard, place, message } of all) if (shard === name) void showUndelivered(place, message).catch(onError)
  }

  /** Returns the reports that are not too old. */
  function current(): readonly Kept[] {
    return kept.filter(({ until }) => until > clock.monotonic())
  }
}
