import { hasPostgres, needsPostgres } from '@reply/testing/internal'
import { compareEngines, countRunCalls } from '../bridge/on-postgres.ts'
import type { Effort, Goal } from '../goal.ts'
import { median } from '../rounds.ts'

/** The runs whose calls are counted. */
const countedRuns = { full: 40, quick: 20 }
/** The pieces of answers of a second that are compared. */
const fewPieces = 20
const manyPieces = 100

/** A bridge whose state is in PostgreSQL, beside one on SQLite that answers the same messages. */
export const postgresGoals: readonly Goal[] = [
  {
    id: 'bridge.postgres.cpu',
    what: 'CPU time of the bridge per run with its state in PostgreSQL, against SQLite',
    unit: '× as long',
    bound: { atMost: 1.3 },
    lacking: lackingPostgres,
    measure: async (effort) => {
      const { sqlite, postgres } = await compareEngines(effort)
      return median(postgres.map(({ cpuMs }, round) => cpuMs / (sqlite[round]?.cpuMs ?? Number.NaN)))
    },
  },
  {
    id: 'bridge.postgres.server',
    what: "CPU time of PostgreSQL's processes per run",
    unit: 'ms of CPU',
    bound: { atMost: 10 },
    lacking: lackingCpuTimes,
    measure: async (effort) => median((await compareEngines(effort)).postgres.map(({ serverMs }) => serverMs)),
  },
  {
    id: 'bridge.postgres.posted',
    what: 'message sent on Telegram → prompt posted to the server, median of chats in turn, against SQLite',
    unit: '× as long',
    bound: { atMost: 2 },
    lacking: lackingPostgres,
    measure: async (effort) => await latencyRatio(effort, 'latenciesMs'),
  },
  {
    id: 'bridge.postgres.first',
    what: 'first sentence of an answer → shown on Telegram, median of chats in turn, against SQLite',
    unit: '× as long',
    bound: { atMost: 1.5 },
    lacking: lackingPostgres,
    measure: async (effort) => await latencyRatio(effort, 'firstsMs'),
  },
  {
    id: 'bridge.postgres.last',
    what: 'end of an answer → its last edit shown on Telegram, median of chats in turn, against SQLite',
    unit: '× as long',
    bound: { atMost: 1.5 },
    lacking: lackingPostgres,
    measure: async (effort) => await latencyRatio(effort, 'lastsMs'),
  },
  {
    id: 'bridge.postgres.commits',
    what: 'commits of a run whose answer is posted once, which do not depend on the engine',
    unit: 'calls',
    bound: { atMost: 8 },
    lacking: lackingPostgres,
    measure: async (effort) => (await countRunCalls(1, countedRuns[effort])).commits,
  },
  {
    id: 'bridge.postgres.reads',
    what: 'reads of such a run, in whole numbers: a few others have a clock of their own',
    unit: 'calls',
    bound: { atMost: 9 },
    lacking: lackingPostgres,
    measure: async (effort) => Math.round((await countRunCalls(1, countedRuns[effort])).reads),
  },
  {
    id: 'bridge.postgres.statements',
    what: 'statements that the server gets to commit, against commits: those that wait at the same time are sent together',
    unit: '× as many',
    bound: { atMost: 1 },
    lacking: lackingPostgres,
    measure: async (effort) => {
      const { commits, commitStatements } = await countRunCalls(20, countedRuns[effort])
      return commitStatements / commits
    },
  },
  {
    id: 'bridge.postgres.deltas',
    what: 'reads and commits of a run for each further delta, beyond two commits for each post or edit',
    unit: 'calls',
    bound: { atMost: 0.005 },
    lacking: lackingPostgres,
    measure: async (effort) =>
      ((await callsBesideShown(manyPieces, effort)) - (await callsBesideShown(fewPieces, effort))) /
      (manyPieces - fewPieces),
  },
]

/** Returns how to get PostgreSQL if this machine lacks it. */
function lackingPostgres(): string | undefined {
  return hasPostgres() ? undefined : `this ${needsPostgres}.`
}

/** Returns how to get PostgreSQL if this machine lacks it, or that only Linux tells the CPU time of other processes. */
function lackingCpuTimes(): string | undefined {
  return process.platform === 'linux' ? lackingPostgres() : 'this needs Linux, which has CPU times in /proc.'
}

/** Resolves with the median time of all runs on PostgreSQL, as a multiple of that on SQLite. */
async function latencyRatio(effort: Effort, times: 'latenciesMs' | 'firstsMs' | 'lastsMs'): Promise<number> {
  const { sqlite, postgres } = await compareEngines(effort)
  return median(postgres.flatMap((round) => round[times])) / median(sqlite.flatMap((round) => round[times]))
}

/** Resolves with the reads and commits of a run with so many pieces, without the two commits for each post or edit. */
async function callsBesideShown(pieces: number, effort: Effort): Promise<number> {
  const { reads, commits, shown } = await countRunCalls(pieces, countedRuns[effort])
  return reads + commits - 2 * shown
}
