import { startLoadedBridge } from '../bridge/load.ts'
import type { Effort, Goal } from '../goal.ts'
import { median } from '../rounds.ts'

/**
 * Telegram lets a bot send 30 messages a second.
 * https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
 */
const perSecond = 30
const activeChats = { full: 500, quick: 60 }
const knownChats = 10_000
/** How long a bridge is watched at rest, in ms. */
const restMs = 5000

/** A bridge under load: the fake Telegram and the scripted server are in another process. */
export const bridgeGoals: readonly Goal[] = [
  {
    id: 'bridge.posted',
    what: 'message sent on Telegram → prompt posted to the server, with SQLite, median of 300 chats in turn',
    unit: 'ms',
    bound: { atMost: 20 },
    measure: postLatency,
  },
  {
    id: 'bridge.burst',
    what: 'the same for 200 chats at once, median, against the median of chats in turn',
    unit: '× as long',
    bound: { atMost: 60 },
    measure: burstRatio,
  },
  {
    id: 'bridge.first',
    what: 'first sentence of an answer → shown on Telegram, median of chats in turn, against a message that is posted',
    unit: '× as long',
    bound: { atMost: 2 },
    measure: firstTextRatio,
  },
  {
    id: 'bridge.written',
    what: 'what is written to the store for an answer of 50 KB, against its length',
    unit: '× as large',
    bound: { atMost: 1.6 },
    measure: writtenRatio,
  },
  {
    id: 'bridge.start',
    what: 'start of a bridge whose chats had 500 runs with logs of 50 KB, against runs without logs, CPU time',
    unit: '× as long',
    bound: { atMost: 1.5 },
    measure: startRatio,
  },
  {
    id: 'bridge.finals',
    what: '500 chats answered at once: end of the last answer → last answer shown whole, against 30 messages a second',
    unit: '× as long',
    bound: { atMost: 1.5 },
    measure: async (effort) => (await answerAtOnce(effort)).finals,
  },
  {
    id: 'bridge.429',
    what: 'rate-limited calls for these chats',
    unit: 'calls',
    bound: { atMost: 0 },
    measure: async (effort) => (await answerAtOnce(effort)).limited,
  },
  {
    id: 'bridge.memory',
    what: 'resident memory of the process with these chats, at its highest, started as by the Dockerfile',
    unit: 'kB',
    bound: { atMost: 400_000 },
    measure: async (effort) => (await answerAtOnce(effort)).residentKB,
  },
  {
    id: 'bridge.rest',
    what: 'CPU time of a bridge at rest for 5 s that knows 10,000 chats, beyond that of one that knows none',
    unit: 'ms of CPU',
    bound: { atMost: 20 },
    measure: async () => (await cpuMsAtRest(knownChats)) - (await cpuMsAtRest(0)),
  },
]

/** Resolves with the median time from a message to its prompt, in ms. */
async function postLatency(effort: Effort): Promise<number> {
  const chats = effort === 'full' ? 300 : 60
  const bridge = await startLoadedBridge({ pieces: 1, everyMs: 1, chats: chats + 20 })
  // The first ones compile the code.
  await bridge.play({ chats: 20, everyMs: 100, firstChat: chats + 1 })
  const { latenciesMs } = await bridge.play({ chats, everyMs: 100, firstChat: 1 })
  await bridge.close()
  // The highest percentiles are the disk's: with other load they were 15 to 300 ms.
  return median(latenciesMs)
}

/**
 * Resolves with the median time to the prompts of chats at once, as a multiple of that of chats in turn. Prompts that
 * arrive together are also written together. Each group of commits waits for the disk.
 */
async function burstRatio(effort: Effort): Promise<number> {
  const chats = effort === 'full' ? 200 : 60
  const bridge = await startLoadedBridge({ pieces: 20, everyMs: 50, chats: chats + 60 })
  await bridge.play({ chats: 20, everyMs: 100, firstChat: chats + 1 })
  const alone = await bridge.play({ chats: 40, everyMs: 100, firstChat: chats + 21 })
  const together = await bridge.play({ chats, everyMs: 0, firstChat: 1 })
  await bridge.close()
  return median(together.latenciesMs) / median(alone.latenciesMs)
}

/**
 * Resolves with the median time from the first piece of an answer to the chat that shows it, as a multiple of that from
 * a message to its prompt.
 */
async function firstTextRatio(effort: Effort): Promise<number> {
  const chats = effort === 'full' ? 60 : 20
  const bridge = await startLoadedBridge({ pieces: 20, everyMs: 50, chats: chats + 20 })
  await bridge.play({ chats: 20, everyMs: 100, firstChat: chats + 1 })
  const { firstsMs, latenciesMs } = await bridge.play({ chats, everyMs: 100, firstChat: 1 })
  await bridge.close()
  return median(firstsMs) / median(latenciesMs)
}

/** Resolves with the length of what is written to the store for an answer, as a multiple of the answer's length. */
async function writtenRatio(): Promise<number> {
  const paragraphs = 50
  const bridge = await startLoadedBridge({ pieces: 10, everyMs: 10, chats: 1, paragraphs })
  const before = bridge.written()
  await bridge.play({ chats: 1, everyMs: 0, firstChat: 1 })
  const after = bridge.written()
  await bridge.close()
  // Each paragraph is twenty sentences of 51 letters.
  return (after - before) / (paragraphs * 20 * 51)
}

/** Resolves with the CPU time of a start after runs with logs, as a multiple of that after runs without. */
async function startRatio(): Promise<number> {
  const ratios: number[] = []
  for (let round = 0; round < 5; round++) {
    const plain = await startMsWithLogs(0)
    const logged = await startMsWithLogs(50)
    ratios.push(logged / plain)
  }
  return median(ratios)
}

/** Resolves with the CPU time of a start after 500 runs with logs of this length, in ms. */
async function startMsWithLogs(logKB: number): Promise<number> {
  const bridge = await startLoadedBridge({ pieces: 1, everyMs: 1, chats: 1, finishedRuns: { runs: 500, logKB } })
  await bridge.close()
  return bridge.startMs
}

/**
 * Lets all chats write at once, with answers of ten seconds. Resolves with the time until all are shown as a multiple
 * of what Telegram's budget allows, the rate-limited calls, and the highest resident memory.
 */
async function answerAtOnce(
  effort: Effort,
): Promise<{ readonly finals: number; readonly limited: number; readonly residentKB: number }> {
  const chats = activeChats[effort]
  const bridge = await startLoadedBridge({ pieces: 20, everyMs: 500, chats })
  let resident = 0
  const timer = setInterval(() => {
    resident = Math.max(resident, process.memoryUsage.rss())
  }, 100)
  const { finalsMs, limited } = await bridge.play({ chats, everyMs: 0, firstChat: 1 })
  clearInterval(timer)
  await bridge.close()
  return { finals: finalsMs / ((chats / perSecond) * 1000), limited, residentKB: resident / 1024 }
}

/** Resolves with the CPU time of `restMs` without a message, in ms, for a bridge that knows this many chats. */
async function cpuMsAtRest(chats: number): Promise<number> {
  const bridge = await startLoadedBridge({ pieces: 1, everyMs: 1, chats: 1, knownChats: chats })
  await new Promise((resolve) => setTimeout(resolve, 1000))
  const before = process.cpuUsage()
  await new Promise((resolve) => setTimeout(resolve, restMs))
  const { user, system } = process.cpuUsage(before)
  await bridge.close()
  return (user + system) / 1000
}
