import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type PostgresServer, startPostgres, startPostgresProxy } from '@reply/testing/internal'
import type { Effort } from '../goal.ts'
import type { Load } from './fakes.ts'
import { type LoadedBridge, startLoadedBridge } from './load.ts'

/** The figures of one round of runs on one engine. */
interface Round {
  /** CPU time of the bridge's process per run, in ms. */
  readonly cpuMs: number
  /** CPU time of PostgreSQL's processes per run, in ms. 0 on systems other than Linux. */
  readonly serverMs: number
  /** From a message to its prompt, in ms. */
  readonly latenciesMs: readonly number[]
  /** From an answer's first piece to the chat that shows it, in ms. */
  readonly firstsMs: readonly number[]
  /** From an answer's end to the chat that shows all of it, in ms. */
  readonly lastsMs: readonly number[]
}

/** Rounds of the same runs on both engines, made in turn. */
interface Compared {
  readonly sqlite: readonly Round[]
  readonly postgres: readonly Round[]
}

/** The runs of a round. */
const chats = 30
/** Before the first round. They compile the code. */
const warmUps = 3

/**
 * Lets two bridges in this process, one on each engine, answer in turn, so that other work on the machine affects both. A round
 * is a message every 100 ms, each with an answer in 20 pieces, one every 50 ms. Each engine begins every second round.
 */
export async function compareEngines(effort: Effort): Promise<Compared> {
  const rounds = warmUps + (effort === 'full' ? 7 : 3)
  const server = await startPostgres()
  const circumstances = { pieces: 20, everyMs: 50, chats: rounds * chats }
  const onSqlite = await startLoadedBridge(circumstances)
  const onPostgres = await startLoadedBridge({ ...circumstances, postgres: await server.createDatabase() })
  const sqlite: Round[] = []
  const postgres: Round[] = []
  for (let round = 0; round < rounds; round++) {
    const load = { chats, everyMs: 100, firstChat: round * chats + 1 }
    const sides = [
      async () => sqlite.push(await playRound(onSqlite.play, load, server)),
      async () => postgres.push(await playRound(onPostgres.play, load, server)),
    ]
    for (const play of round % 2 === 0 ? sides : sides.toReversed()) await play()
  }
  await onSqlite.close()
  await onPostgres.close()
  await server.remove()
  return { sqlite: sqlite.slice(warmUps), postgres: postgres.slice(warmUps) }
}

/** Plays a load on one of the bridges, and resolves with its figures. */
async function playRound(play: LoadedBridge['play'], load: Load, server: PostgresServer): Promise<Round> {
  // Neither engine pays for collecting the other's garbage.
  globalThis.gc?.({ type: 'minor' })
  const serverBefore = cpuMsOf(server)
  const before = process.cpuUsage()
  const { latenciesMs, firstsMs, lastsMs } = await play(load)
  const { user, system } = process.cpuUsage(before)
  const cpuMs = (user + system) / 1000 / load.chats
  return { cpuMs, serverMs: (cpuMsOf(server) - serverBefore) / load.chats, latenciesMs, firstsMs, lastsMs }
}

/** The unit of CPU times in /proc, in ms: Linux shows them to programs in hundredths of a second. */
const tickMs = 10

/** Returns the CPU time of a server's processes so far, in ms, including those that have ended. 0 without /proc. */
function cpuMsOf({ root }: PostgresServer): number {
  if (!existsSync('/proc/self/stat')) return 0
  const [main = ''] = readFileSync(join(root, 'data', 'postmaster.pid'), 'utf8').split('\n')
  const ticks = readdirSync('/proc').map((pid) => {
    // From the state on: the program's name before it may contain spaces.
    const fields = statOf(pid).replace(/.*\) /s, '').split(' ')
    const [own, ended] = [11, 13].map((at) => Number(fields[at]) + Number(fields[at + 1]))
    if (pid === main) return (own ?? 0) + (ended ?? 0)
    return fields[1] === main ? (own ?? 0) : 0
  })
  return ticks.reduce((sum, one) => sum + one, 0) * tickMs
}

/** Returns the line of a process in /proc. Empty if it has ended, or is none. */
function statOf(pid: string): string {
  if (!/^\d+$/.test(pid)) return ''
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}

/** What a run of a bridge costs, on average. */
interface RunCalls {
  /** Calls of the store. */
  readonly commits: number
  readonly reads: number
  /** Statements that the server got to commit. */
  readonly commitStatements: number
  /** Posts and edits in the chat. */
  readonly shown: number
}

/** How long a bridge must have committed nothing, in ms, to count as done. */
const quietMs = 1000

/**
 * Counts what runs of so many chats cost, ten a second, each with an answer of a second in so many pieces. The statements are those
 * that pass through a proxy between the bridge and the server.
 */
export async function countRunCalls(pieces: number, runs: number): Promise<RunCalls> {
  const server = await startPostgres()
  const proxy = await startPostgresProxy({ target: await server.createDatabase() })
  let commitStatements = 0
  // It sees every statement, and loses none.
  void proxy.loseNextQuery((bytes) => {
    if (bytes.includes('commit_batch')) commitStatements++
    return false
  })
  const bridge = await startLoadedBridge({ pieces, everyMs: 1000 / pieces, chats: runs + 1, postgres: proxy.url })
  // Work of the start ends meanwhile.
  await bridge.play({ chats: 1, everyMs: 0, firstChat: runs + 1 })
  await untilQuiet(bridge)
  const before = { ...bridge.calls(), commitStatements }
  const { shown } = await bridge.play({ chats: runs, everyMs: 100, firstChat: 1 })
  await untilQuiet(bridge)
  const after = { ...bridge.calls(), commitStatements }
  await bridge.close()
  await proxy.close()
  await server.remove()
  return {
    commits: (after.commits - before.commits) / runs,
    reads: (after.reads - before.reads) / runs,
    commitStatements: (after.commitStatements - before.commitStatements) / runs,
    shown: shown / runs,
  }
}

/** Resolves once a bridge has stored that its runs are done, which it does after their last edit. */
async function untilQuiet(bridge: LoadedBridge): Promise<void> {
  for (let before = -1; before < bridge.calls().commits; ) {
    before = bridge.calls().commits
    await new Promise((resolve) => setTimeout(resolve, quietMs))
  }
}
