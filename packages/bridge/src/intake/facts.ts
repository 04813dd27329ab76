import { randomUUID } from 'node:crypto'
import type { SteadyClock } from '@reply/core/source'
import type { Chat } from '@reply/sink'
import { type BridgeConnection, NotTakenError } from '@reply/sink/channel'
import { createRecent } from '@reply/sink/internal'
import { toError } from '../error.ts'
import type { ChatPlace } from '../place.ts'
import { toSharedFact } from '../state/decode.ts'
import { keyInShard, shardIn } from '../state/shard-of.ts'
import type { SharedState } from '../state/state.ts'
import { StoreError } from '../store/store.ts'
import { waitAtMost } from '../timers.ts'
import type { Intake } from './intake.ts'

/** Passes what a channel learned from a webhook to the owners of the chats, for example that a message was delivered. */
export interface Facts {
  /** As in `ChannelHost`, for a channel. */
  share(channel: string, chats: readonly Chat[], fact: unknown): Promise<void>
  /** Begins to pass the stored facts of a shard to its channels, if this process owns it. */
  look(shard: string): void
  /** Does so for all shards of this process. Does nothing if there are no other members. */
  lookAtAll(): void
}

/** How long a fact is stored, in ms: an owner that was killed is replaced within that time. */
const keptMs = 60_000
/** How long storing a fact may take, in ms. */
const storingMs = 2000
/** How many facts are remembered as known. A fact that a channel gets again changes nothing. */
const mostKnown = 10_000

/** The prefix of the keys of all facts of a shard. */
const factPrefix = 'fact/'

/** Creates the facts of a process. */
export function createFacts({
  state,
  stateOf,
  shardOf,
  intakes,
  connections,
  others,
  clock,
  onError,
}: {
  readonly state: Pick<SharedState, 'list'>
  readonly stateOf: (shard: string) => Pick<SharedState, 'commitWithoutLease'>
  readonly shardOf: (place: ChatPlace) => string
  /** The intakes of the shards that this process owns and has restored, by shard. */
  readonly intakes: ReadonlyMap<string, Pick<Intake, 'isEnded'>>
  readonly connections: ReadonlyMap<string, Pick<BridgeConnection, 'learn'>>
  /** How many other members there are. */
  readonly others: () => number
  readonly clock: SteadyClock
  readonly onError: (error: Error) => void
}): Facts {
  /** The keys of facts that a channel has. */
  const known = createRecent<true>(mostKnown)
  /** The prefixes that are being read, and whether to read them again after that. */
  const reading = new Map<string, boolean>()
  return { share, look, lookAtAll }

  /** Stores a fact for each shard of the chats that this process does not own. */
  async function share(channel: string, chats: readonly Chat[], fact: unknown): Promise<void> {
    if (others() === 0) return
    const shards = new Set(chats.map((chat) => shardOf({ channel, chat })))
    const value = JSON.stringify({ channel, fact })
    const stored = Promise.all([...shards].filter((shard) => !isOwn(shard)).map((shard) => store(shard, value)))
    let isStored = false
    const storing = stored.then(
      () => {
        isStored = true
      },
      (error: unknown) => onError(toError(error)),
    )
    await waitAtMost(storing, storingMs, clock)
    if (!isStored) throw new NotTakenError()
  }

  /** Stores a fact, and sends a hint to the owner of the shard. */
  async function store(shard: string, value: string): Promise<void> {
    const put = { type: 'put', key: `${factPrefix}${randomUUID()}`, value, expiresInMs: keptMs } as const
    await stateOf(shard).commitWithoutLease([put], { survives: 'process', hint: `fact/${shard}` })
  }

  /** Whether this process owns a shard, and has not begun to give it back. */
  function isOwn(shard: string): boolean {
    return intakes.get(shard)?.isEnded() === false
  }

  /** Begins to read the facts of a shard of this process. Ignores other shards. */
  function look(shard: string): void {
    if (isOwn(shard)) void read(keyInShard(shard, factPrefix))
  }

  /** Begins to read the facts of all shards, unless this process is alone. */
  function lookAtAll(): void {
    if (others() > 0) void read(factPrefix)
  }

  /** Reads the facts below a prefix, and again if this was called meanwhile. Does nothing if no channel learns. */
  async function read(prefix: string): Promise<void> {
    const isUsed = [...connections.values()].some(({ learn }) => learn !== undefined)
    if (!isUsed) return
    if (reading.has(prefix)) return void reading.set(prefix, true)
    try {
      do {
        reading.set(prefix, false)
        await learnStored(prefix)
      } while (reading.get(prefix))
    } catch (error) {
      const isClosed = error instanceof StoreError && error.type === 'closed'
      if (!isClosed) onError(toError(error))
    } finally {
      reading.delete(prefix)
    }
  }

  /** Passes each stored fact of a shard of this process to its channel once. Rejects like `SharedState.list`. */
  async function learnStored(prefix: string): Promise<void> {
    for (const { key, value } of await state.list(prefix)) {
      if (known.has(key) || !isOwn(shardIn(key))) continue
      known.set(key, true)
      try {
        const { channel, fact } = toSharedFact(value)
        connections.get(channel)?.learn?.(fact)
      } catch (error) {
        onError(toError(error))
      }
    }
  }
}
