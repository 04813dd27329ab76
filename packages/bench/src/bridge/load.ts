import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createBridge, parseConfig, type Store, sqliteStore, type Write } from '@reply/bridge'
import type { FakesMessage, Load } from './fakes.ts'

/** A bridge in this process, and its platform and its server in another. */
export interface LoadedBridge {
  /** Plays a load, and resolves when every chat shows its whole answer. Rejects if some never do. */
  play(load: Load): Promise<Done>
  /** Stops the bridge and the fakes, and removes the state. */
  close(): Promise<void>
  /** The length of all values that were committed so far, in UTF-16 units. */
  written(): number
  /** How often the bridge has read its state, and how many commits it has made. */
  calls(): StoreCalls
  /** CPU time of its start, in ms. */
  readonly startMs: number
}

/** Calls of a store. Reads are those of a key, of a prefix, of a queue and of the names of queues. */
export interface StoreCalls {
  readonly reads: number
  readonly commits: number
}

/** Runs that ended before the start, each with a log of this length. */
interface FinishedRuns {
  readonly runs: number
  readonly logKB: number
}

type Done = Extract<FakesMessage, { type: 'done' }>

/** The answers of the server, and the state before the start. */
interface Circumstances {
  /** The number of pieces of each answer, and the ms between them. */
  readonly pieces: number
  readonly everyMs: number
  /** How many chats may prompt, numbered from 1. */
  readonly chats: number
  /** How many other chats the state knows, in hundreds. Default 0. */
  readonly knownChats?: number
  /** The paragraphs of each answer, of about 1 KB. Default 1. */
  readonly paragraphs?: number
  /** Default: none. */
  readonly finishedRuns?: FinishedRuns
  /** The URL of an empty PostgreSQL database for the state. Default: the state is in SQLite. */
  readonly postgres?: string | undefined
}

/** Starts the fakes and a bridge for them. Rejects if either doesn't start. */
export async function startLoadedBridge(circumstances: Circumstances): Promise<LoadedBridge> {
  const { pieces, everyMs, chats, knownChats = 0, paragraphs = 1, finishedRuns, postgres } = circumstances
  const fakes = fork(fileURLToPath(new URL('./fakes.js', import.meta.url)), [
    String(pieces),
    String(everyMs),
    String(paragraphs),
  ])
  /** Resolves with the next message of the fakes. Rejects if they end. */
  const nextMessage = async (): Promise<FakesMessage> =>
    await new Promise((resolve, reject) => {
      const rejectEnded = (code: number | null): void => reject(new Error(`The fakes ended with exit code ${code}.`))
      fakes.once('exit', rejectEnded)
      fakes.once('message', (message: FakesMessage) => {
        fakes.off('exit', rejectEnded)
        resolve(message)
      })
    })
  const ready = await nextMessage()
  if (ready.type !== 'ready') throw new Error('The fakes did not start.')
  const folder = mkdtempSync(join(tmpdir(), 'reply-bench-'))
  const openState = async (): Promise<Store> => {
    if (postgres === undefined) return await sqliteStore({ folder })
    // Only here, because the resident memory of a bridge on SQLite is measured.
    const { postgresStore } = await import('@reply/postgres')
    return await postgresStore({ url: postgres })
  }
  await fillState(await openState(), knownChats, finishedRuns)
  const { store, written, calls } = countCalls(await openState())
  const bridge = createBridge({
    config: parseConfig({
      servers: { home: { url: ready.opencode } },
      channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: ready.telegram } },
      people: {
        all: { ids: Array.from({ length: chats }, (_, index) => `tg:${index + 1}`), may: ['prompt', 'approve'] },
      },
      router: { messagesPerMinute: 1_000_000 },
    }),
    store,
    secret: () => '1:bench',
    onError: (error) => process.stderr.write(`${error.message}\n`),
  })
  const before = process.cpuUsage()
  await bridge.start()
  const { user, system } = process.cpuUsage(before)
  return { play: playLoad, close: closeAll, written, calls, startMs: (user + system) / 1000 }

  /**
   * Plays one load, and resolves with its figures. Rejects if the fakes end, start again, or report that chats got
   * stuck.
   */
  async function playLoad(load: Load): Promise<Done> {
    fakes.send(load)
    const message = await nextMessage()
    if (message.type === 'done') return message
    throw new Error(message.type === 'stuck' ? message.why : 'The fakes started again.')
  }

  /** Stops the bridge and the fakes, and removes the state. */
  async function closeAll(): Promise<void> {
    await bridge.stop()
    fakes.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Writes chats that were used before, each with its session and ten messages that replies may refer to, and finished
 * runs. Writes chats by the hundred, so it rounds `knownChats` up. Closes the state. Rejects if another process uses it.
 */
async function fillState(
  store: Store,
  knownChats: number,
  finished: FinishedRuns = { runs: 0, logKB: 0 },
): Promise<void> {
  const wants = { state: ['state'] }
  const beat = await store.beat({
    ...{ member: 'bench', forMs: 60_000, layout: '', isAlone: true, wants, budgets: {} },
  })
  const [lease] = beat.type === 'admitted' ? beat.leases : []
  if (!lease) throw new Error('The state is in use.')
  for (let chat = 1_000_000; chat < 1_000_000 + knownChats; chat += 100) {
    const writes = Array.from({ length: 100 }, (_, index) => chat + index).flatMap((id) => {
      const session = { server: 'home', sessionID: `ses_${id}`, usedAt: Date.now() }
      const put = (key: string, value: object) =>
        ({ type: 'put', key, value: JSON.stringify(value), expiresInMs: 86_400_000 }) as const
      return [
        put(`route/tg/${id}/`, { server: 'home', sessionID: `ses_${id}` }),
        put(`session/tg/${id}//ses_${id}`, session),
        ...Array.from({ length: 10 }, (_, message) => put(`message/tg/${id}/${message}`, session)),
      ]
    })
    await store.commit(writes, lease)
  }
  for (let run = 0; run < finished.runs; run++) await store.commit(writesOfRun(run, finished.logKB), lease)
  await store.leave('bench')
  await store.close()
}

/** The shard of the chat `tg:1`. */
const shard = '24'

/** The writes with which a bridge stores a finished run, the one with this number, and its log of `logKB`. */
function writesOfRun(runNumber: number, logKB: number): readonly Write[] {
  const at = Date.now()
  const id = `run${runNumber}`
  const prompt = {
    id,
    channel: 'tg',
    chat: { id: '1' },
    actor: { id: '1', name: 'Ann' },
    text: `chat ${runNumber}`,
    files: [],
    isCommand: false,
    messageRef: { id },
    receivedAt: at,
  }
  const execution = {
    id,
    prompt,
    server: 'home',
    sessionID: `ses_ran${runNumber}`,
    phase: 'done',
    status: 'complete',
    startedAt: at,
    finishedAt: at,
  }
  const lines = Array.from({ length: logKB }, () => ({ from: 'stdout', text: 'x'.repeat(1000) }))
  return [
    { type: 'put', key: `execution/${shard}/tg/1//${id}`, value: JSON.stringify(execution) },
    { type: 'put', key: `log/${shard}/tg/1//${id}`, value: JSON.stringify(lines) },
  ]
}

/** Returns the store, the length of all values that were committed through it, in UTF-16 units, and its calls. */
function countCalls(store: Store): {
  readonly store: Store
  readonly written: () => number
  readonly calls: () => StoreCalls
} {
  let units = 0
  let reads = 0
  let commits = 0
  /** Returns a call that also counts as a read. */
  const countRead =
    <Result>(call: (name: string) => Promise<Result>) =>
    async (name: string): Promise<Result> => {
      reads++
      return await call(name)
    }
  const commit: Store['commit'] = async (writes, ...rest) => {
    commits++
    for (const write of writes) if ('value' in write) units += write.value?.length ?? 0
    return await store.commit(writes, ...rest)
  }
  const counted: Store = {
    ...store,
    read: countRead(store.read),
    list: countRead(store.list),
    queue: countRead(store.queue),
    queues: countRead(store.queues),
    commit,
  }
  return { store: counted, written: () => units, calls: () => ({ reads, commits }) }
}
