import type { Mirrors } from '../config/mirrors.ts'
import type { ChatPlace } from '../place.ts'
import { toExecution, toFailure, toQueuedPrompt, toStoredNotice } from '../state/decode.ts'
import { shardOf } from '../state/shard-of.ts'
import type { SharedState, State } from '../state/state.ts'
import type { StoredValue, Write } from '../store/store.ts'

/** The kinds of values that are moved, and where each belongs. Logs are moved with their executions. */
const placeOf: Readonly<Record<string, (value: string) => ChatPlace | undefined>> = {
  execution: (value) => toExecution(value).prompt,
  newest: (value) => toExecution(value).prompt,
  stopping: (value) => toExecution(value).prompt,
  unknown: toQueuedPrompt,
  notice: toStoredNotice,
  failed: (value) => {
    const failure = toFailure(value)
    return failure.type === 'delivery' ? failure : undefined
  },
}

/** The kinds of queues whose entries are moved. */
const queueKinds = ['inbox', 'prompts', 'backlog']

/**
 * Moves the rows of chats that belong to another shard since the config's layout changed. Only the single member of a state may
 * call it. If it is interrupted, the next call moves the rest.
 */
export async function moveRows({
  state,
  commit,
  mirrors,
}: {
  readonly state: Pick<SharedState, 'read' | 'list' | 'queue' | 'queues'>
  readonly commit: State['commit']
  readonly mirrors: Pick<Mirrors, 'chatKeyOf' | 'needsListener'>
}): Promise<void> {
  for (const kind of Object.keys(placeOf)) for (const row of await state.list(`${kind}/`)) await moveValue(row)
  for (const kind of queueKinds)
    for (const queue of await state.queues(`${kind}/`))
      for (const { id, value } of await state.queue(queue)) {
        const moved = inShardOf(queue, placeIn(value, toQueuedPrompt))
        if (moved === undefined) continue
        await commit([
          { type: 'dequeue', queue, id },
          { type: 'enqueue', queue: moved, id, value },
        ])
      }

  /** Moves a value, and the log of an execution with it. */
  async function moveValue({ key, value, expiresInMs }: StoredValue): Promise<void> {
    const [kind = ''] = key.split('/', 1)
    const moved = inShardOf(key, placeIn(value, placeOf[kind] ?? (() => undefined)))
    if (moved === undefined) return
    const more =
      kind === 'execution' ? await moveLog(key, moved) : kind === 'newest' ? moveHome(moved, expiresInMs) : []
    await commit([{ type: 'remove', key }, { type: 'put', key: moved, value, expiresInMs }, ...more])
  }

  /** Returns the writes that move the log of an execution. */
  async function moveLog(key: string, moved: string): Promise<readonly Write[]> {
    const logKey = key.replace(/^execution/, 'log')
    const log = (await state.list(logKey)).find((one) => one.key === logKey)
    if (!log) return []
    const put = { type: 'put', key: moved.replace(/^execution/, 'log'), value: log.value } as const
    return [
      { type: 'remove', key: logKey },
      { ...put, expiresInMs: log.expiresInMs },
    ]
  }

  /** Returns the write that names the new shard of a session. */
  function moveHome(moved: string, expiresInMs: number | undefined): readonly Write[] {
    const [, shard = '', ...session] = moved.split('/')
    return [{ type: 'put', key: ['home', ...session].join('/'), value: shard, expiresInMs }]
  }

  /** Returns the key or queue with the shard of the place. Undefined if it has that, or without a place. */
  function inShardOf(key: string, place: ChatPlace | undefined): string | undefined {
    if (!place) return undefined
    const [kind = '', shard, ...rest] = key.split('/')
    const right = shardOf(place, mirrors)
    return shard === right ? undefined : [kind, right, ...rest].join('/')
  }
}

/** Decodes the place of a row. Undefined for a row that can't be read: its shard puts it aside. */
function placeIn(value: string, decode: (value: string) => ChatPlace | undefined): ChatPlace | undefined {
  try {
    return decode(value)
  } catch {
    return undefined
  }
}
