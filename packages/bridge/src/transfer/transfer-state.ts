import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { type Clock, systemClock } from '@reply/core'
import { steadyClock } from '@reply/core/internal'
import { reachedFrom } from '../config/agent-reach.ts'
import { type LoadedConfig, loadConfig } from '../config/load.ts'
import type { BridgeConfig } from '../config/schema.ts'
import { BridgeError } from '../error.ts'
import { createMembership, type HeldLease, takenOverError } from '../members/membership.ts'
import { createLeasedCommit } from '../state/state.ts'
import { type ConfiguredState, configuredState, type LoadStore } from '../store/load-store.ts'
import type { Store, Write } from '../store/store.ts'
import type { StateRow } from './decode.ts'
import { readStateFile, requireNewFile, type StateCounts, writeStateFile } from './state-file.ts'

/** Options of `exportState`. */
export interface ExportStateOptions {
  /** The path of the config, which names the state. */
  readonly path: string
  /** The path of the file with the exported state. */
  readonly file: string
  /** The environment variables for secrets. Default: those of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** Loads the package of the state. Default: `@reply/<type>`. SQLite needs none. */
  readonly loadStore?: LoadStore | undefined
  /** Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

/** Options of `importState`. */
export interface ImportStateOptions extends ExportStateOptions {
  /** Called with notices for the operator: that a part of an earlier import is removed. Default: none. */
  readonly onNotice?: ((notice: string) => void) | undefined
}

/**
 * Writes the state of a stopped bridge to a new file, which `importState` reads into any kind of state. Is the only member of the
 * state meanwhile, so that no bridge changes it. Resolves with what was written. Rejects with `BridgeError` of type `state` if a
 * process uses the state, if there is none, or if the file exists, can't be written or could be read by an agent, with type
 * `config`, and with `StoreError`. Then there is no new file. All values are in memory at once, because `Store.list` returns them
 * so.
 */
export async function exportState(options: ExportStateOptions): Promise<StateCounts> {
  const { path, file, env = process.env } = options
  requireNewFile(file)
  const loaded = loadConfig(path, env)
  requireUnreachable(file, loaded.config)
  const { openExisting } = await stateOf(loaded, options)
  const store = await openExisting()
  if (!store) throw new BridgeError('state', 'There is no state yet, so there is nothing to export.')
  return await withLease(store, options, async (lease) => {
    await requireWholeState(store)
    return await writeStateFile(file, rowsOf(store, lease))
  })
}

/**
 * Reads a file of `exportState` into an empty state. Checks the whole file before it writes. Is the only member of the
 * state meanwhile. Resolves with what was written. Rejects with `BridgeError` of type `state` if a process uses the state, if it is not empty, or if
 * the file can't be used, with type `config`, and with `StoreError`. If it fails while it writes, no bridge starts on the state
 * until an import succeeds, and that import begins anew.
 *
 * Leases and their fences are not copied: no value contains a fence, and a lease is only compared with others of the same state,
 * by its holder too, who is unique for each process. So a lease on the old state is never taken for one on the new state.
 */
export async function importState(options: ImportStateOptions): Promise<StateCounts> {
  const { path, file, env = process.env, onNotice = () => {} } = options
  const counts = { values: 0, entries: 0 }
  // A file that was cut off is only recognised at its end.
  for await (const row of readStateFile(file)) counts['key' in row ? 'values' : 'entries']++
  const { open } = await stateOf(loadConfig(path, env), options)
  const store = await open()
  return await withLease(store, options, async (lease, clock) => {
    const commit = createLeasedCommit({ store, lease, clock, stopping: new AbortController().signal })
    const commitAll = async (writes: AsyncIterable<Write> | Iterable<Write>): Promise<void> => {
      for await (const batch of batchesOf(writes)) {
        if (!(await commit(batch)))
          throw new BridgeError('state', `${file} has a key twice, or another process changed the state meanwhile.`)
      }
    }
    const earlier = await store.read(markKey)
    if (earlier !== undefined) {
      onNotice(`The state has a part of ${earlier}, because that import did not end. Removing it first.`)
      await commitAll(await removalsOf(store))
    } else {
      await requireEmpty(store)
      await commitAll([{ type: 'put-if-absent', key: markKey, value: resolve(file) }])
    }
    await commitAll(writesOf(readStateFile(file)))
    await commitAll([{ type: 'remove', key: markKey }])
    return counts
  })
}

/** The key of a value that a state has from the first write of an import to the last: the path of the imported file. */
const markKey = 'importing'

/** Rejects with a `BridgeError` if a state only has a part of an import, because that was interrupted. */
export async function requireWholeState(store: Pick<Store, 'read'>): Promise<void> {
  const file = await store.read(markKey)
  if (file === undefined) return
  throw new BridgeError(
    'state',
    `The state has only a part of ${file}, because that import did not end. Run "reply bridge state import" again, which begins anew, or choose another \`state\`.`,
  )
}

/** Loads the kind of state that a config names. */
async function stateOf(loaded: LoadedConfig, { loadStore: load, clock }: ExportStateOptions): Promise<ConfiguredState> {
  return await configuredState(loaded, { load, clock })
}

/** Throws a `BridgeError` if an agent of the config could read the file, which has what people wrote in all chats. */
function requireUnreachable(file: string, { servers }: BridgeConfig): void {
  for (const { directory } of Object.values(servers))
    if (directory !== undefined && reachedFrom(directory, [resolve(file)]) !== undefined)
      throw new BridgeError(
        'state',
        `An agent in ${directory} could read ${file}, which has the texts of all chats. Choose a file in another folder.`,
      )
}

/**
 * Calls `use` while this process is the only member of the state, with a lease for its writes. Then leaves and closes the store.
 * Rejects with a `BridgeError` if another process uses the state. A bridge that starts meanwhile waits.
 */
async function withLease<Result>(
  store: Store,
  options: Pick<ExportStateOptions, 'clock'>,
  use: (lease: HeldLease, clock: Clock) => Promise<Result>,
): Promise<Result> {
  const clock = options.clock ? steadyClock(options.clock) : systemClock
  const waiting = new AbortController()
  let lease: HeldLease | undefined
  const membership = createMembership({
    store,
    clock,
    member: randomUUID(),
    request: () => ({ layout: '', isAlone: true, wants: { state: ['state'] }, budgets: {} }),
    onGranted: (granted) => {
      lease = granted
    },
    onLost: () => {},
    onExcess: () => {},
    onWaiting: () => waiting.abort(inUseError()),
    onStalled: () => {},
    onBack: () => {},
    onJoined: () => {},
    onLeft: () => {},
  })
  try {
    await membership.join(waiting.signal)
    // A process that was stopped a moment ago may still have it.
    if (!lease) throw inUseError()
    return await use(lease, clock)
  } finally {
    // If this fails, the lease expires within 4 s.
    await membership.leave().catch(() => {})
    await store.close()
  }
}

/** Returns the error of a state that another process uses. */
function inUseError(): BridgeError {
  return new BridgeError(
    'state',
    'Another process uses this state. Stop the bridge first. If it was killed, try again after 4 s.',
  )
}

/**
 * Reads all rows of a state: values by key, then the queues by name, with their entries in order. Throws at the end if another
 * process had the lease meanwhile, and may have changed the state.
 */
async function* rowsOf(store: Store, lease: HeldLease): AsyncGenerator<StateRow> {
  for (const { key, value, expiresInMs } of await store.list('')) yield { key, value, expiresInMs }
  for (const queue of (await store.queues('')).toSorted())
    for (const { id, value } of await store.queue(queue)) yield { queue, id, value }
  if (!(await lease.renew())) throw takenOverError()
}

/** Rejects with a `BridgeError` if a state has a value or an entry. */
async function requireEmpty(store: Store): Promise<void> {
  if ((await store.queues('')).length === 0 && (await store.list('')).length === 0) return
  throw new BridgeError('state', 'The state is not empty. Empty it, or choose another `state` in the config.')
}

/** Returns the writes that remove everything from a state but the mark. */
async function removalsOf(store: Store): Promise<readonly Write[]> {
  const values = (await store.list('')).filter(({ key }) => key !== markKey)
  const removals: Write[] = values.map(({ key }) => ({ type: 'remove', key }))
  for (const queue of await store.queues(''))
    for (const { id } of await store.queue(queue)) removals.push({ type: 'dequeue', queue, id })
  return removals
}

/** Yields the write for each row. It conflicts if the state has the key or the entry already. */
async function* writesOf(rows: AsyncIterable<StateRow>): AsyncGenerator<Write> {
  for await (const row of rows) yield 'key' in row ? { type: 'put-if-absent', ...row } : { type: 'enqueue', ...row }
}

/** The most writes of a commit, and the most UTF-16 units of their values, so that no commit takes as long as the lease. */
const batchWrites = 500
const batchLength = 1_000_000

/** Groups writes for commits. A longer value has a commit of its own. */
async function* batchesOf(writes: AsyncIterable<Write> | Iterable<Write>): AsyncGenerator<readonly Write[]> {
  let batch: Write[] = []
  let length = 0
  for await (const write of writes) {
    const more = 'value' in write ? (write.value?.length ?? 0) : 0
    if (batch.length === batchWrites || (batch.length > 0 && length + more > batchLength)) {
      yield batch
      batch = []
      length = 0
    }
    batch.push(write)
    length += more
  }
  if (batch.length > 0) yield batch
}
