import { loadavg } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { type FaultCounts, playFaults } from './faults.ts'
import { type Judged, judge } from './judge.ts'
import { createPeople, type Given, type Mix, type People } from './people.ts'
import { type Stage, type StageSize, startStage, untilReady } from './stage.ts'

/** What to play. */
export interface PlayOptions extends StageSize, FaultCounts {
  /** Messages in a second, in the part without faults. The other parts have a quarter. */
  readonly rate: number
  /** Ends the part: it rejects, and the logs are kept. */
  readonly signal?: AbortSignal
  /** Told what happens, in one line. */
  readonly onProgress?: (line: string) => void
}

/** One number that a part found. */
export interface Figure {
  readonly name: string
  readonly value: number
  /** The most that is acceptable. Absent if there is no goal. */
  readonly most?: number
  /** Whether a slow machine alone can miss the goal. */
  readonly isSpeed?: true
}

/** What a part found. */
export interface PartResult {
  readonly part: PartName
  readonly figures: readonly Figure[]
  /** What is wrong, in words, beside missed goals. */
  readonly wrong: readonly string[]
  /** Where the logs are, if something is wrong. */
  readonly logs: string | undefined
}

/** `calm`: latencies without faults. `deploy`: a rolling restart. `faults`: kills, stops and crashes. */
export type PartName = keyof typeof parts

type Play = (stage: Stage, people: People, options: PlayOptions) => Promise<readonly Figure[]>

const parts = { calm: playCalm, deploy: playDeploy, faults: playWithFaults } as const satisfies Record<string, Play>

/** All parts, in the order in which they are played. */
export const partNames: readonly PartName[] = ['calm', 'deploy', 'faults']

/** The parts of a second's messages that the parts with restarts have, so that two cores can keep up. */
const restartingShare = 0.25
/** How often it is told what goes on, in ms. */
const progressMs = 15_000
/** Before latencies count, in messages. They compile the code. */
const warmUps = 20
/** How many answers are being written all through a rolling restart. Each takes an edit a second. */
const liveAnswers = 4
/** How long they could be written, in ms. They are stopped at the end of the part. */
const maxLiveMs = 600_000
/** Before the first and after the last restart of a rolling restart, in ms. */
const steadyMs = 3000

/** 20 in a second are 18 posts on Telegram, which allows a bot 30. */
const posts: Mix = { answerMs: [0, 0], ask: 0, hold: 0, real: 0, burst: 0 }
const answers: Mix = { ...posts, answerMs: [0, 3000] }
const everything: Mix = { ...answers, ask: 0.15, hold: 0.1, real: 0.02, burst: 0.3 }

/** Plays one part on a stage of its own. Rejects if the stage can't be started. */
export async function playPart(part: PartName, options: PlayOptions): Promise<PartResult> {
  const stage = await startStage(options)
  const people = createPeople(stage)
  const reporting = setInterval(() => {
    const open = people.openTasks()
    const some = open.slice(0, 5).map(({ token, kind, chat }) => `${token} ${kind} ${chat.person}`)
    options.onProgress?.(`${people.given.length} tasks, ${open.length} are open: ${some.join(', ')}`)
  }, progressMs)
  let isKept = true
  try {
    const playing = parts[part](stage, people, options)
    const found = await Promise.race([playing, untilAborted(options.signal, stage)])
    await people.settled()
    const judged = judge(stage, people, await stage.endMembers())
    const starts = stage.members.reduce((sum, member) => sum + member.starts(), 0)
    const [load = 0] = loadavg()
    const figures = [
      ...found,
      ...figuresOf(judged, part === 'faults' ? options.stops : 0),
      { name: 'starts of members', value: starts },
      { name: 'load of the machine', value: load },
    ]
    isKept = judged.wrong.length > 0 || figures.some(isMissed)
    return { part, figures, wrong: judged.wrong, logs: isKept ? stage.folder : undefined }
  } finally {
    people.stop()
    clearInterval(reporting)
    if (isKept) stage.writeLogs()
    await stage.close(isKept)
  }
}

/** Rejects with the place of the logs when the signal aborts. */
async function untilAborted(signal: AbortSignal | undefined, { folder }: Stage): Promise<never> {
  return await new Promise((_, reject) => {
    const abort = (): void => reject(new Error(`It was interrupted. The logs are in ${folder}.`))
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
  })
}

/** Whether the goal of a figure is missed. */
export function isMissed({ value, most }: Figure): boolean {
  return most !== undefined && !(value <= most)
}

/** People write at the full rate, as many messages as there are chats. */
async function playCalm(
  { server, members }: Stage,
  people: People,
  { rate, chats }: PlayOptions,
): Promise<readonly Figure[]> {
  const cpuOf = (): number => members.reduce((sum, member) => sum + member.cpuMs(), 0)
  const cpuBeforeMs = cpuOf()
  const until = Date.now() + (1000 * (chats + warmUps)) / rate
  await give(people, rate, posts, () => Date.now() > until)
  await people.settled()
  const cpuMs = cpuOf() - cpuBeforeMs
  const waits = waitsOf(server, people.given.slice(warmUps)).toSorted((one, other) => one - other)
  return [
    { name: 'message to prompt: p50, ms', value: percentile(waits, 0.5) },
    { name: 'message to prompt: p99, ms', value: percentile(waits, 0.99), most: 250, isSpeed: true },
    { name: 'message to prompt: worst, ms', value: percentile(waits, 1) },
    ...answerFigures(people.given.slice(warmUps)),
    { name: 'CPU of the members for each task, ms', value: cpuMs / people.given.length },
  ]
}

/** How long it took until chats showed their answers, which agents gave at once. */
function answerFigures(given: readonly Given[]): readonly Figure[] {
  return (['tg', 'slack'] as const).map((channel) => {
    const ones = given.filter(({ chat }) => chat.channel === channel)
    const times = ones.map(({ at, overAt = Number.POSITIVE_INFINITY }) => overAt - at)
    return { name: `message to answer on ${channel}: worst, ms`, value: Math.max(0, ...times) }
  })
}

/** All members are restarted one after the other, while people write and answers are being written. */
async function playDeploy(stage: Stage, people: People, { rate, onProgress }: PlayOptions): Promise<readonly Figure[]> {
  const { members, server } = stage
  const live = Array.from({ length: liveAnswers }, () => people.give('answer', maxLiveMs)).filter(
    (one) => one !== undefined,
  )
  let isOver = false
  const giving = give(people, rate * restartingShare, answers, () => isOver)
  await pause(steadyMs)
  for (const member of members) {
    const before = Date.now()
    await member.restart()
    await untilReady(members)
    onProgress?.(`${member.name} is back after ${Date.now() - before} ms.`)
  }
  await pause(steadyMs)
  isOver = true
  await giving
  const endedAt = Date.now()
  const pauses = live.map(({ chat, at }) => longestPause(people.screenOf(chat).changedAt, at, endedAt))
  for (const { chat, stops } of live) {
    stops.push(Date.now())
    chat.say('/stop')
  }
  await people.settled()
  const others = people.given.filter((one) => !live.includes(one))
  const waitMs = Math.max(0, ...waitsOf(server, others))
  const pauseMs = Math.max(0, ...pauses)
  return [
    { name: 'longest wait for a prompt, ms', value: waitMs },
    { name: 'longest pause of a live answer, ms', value: pauseMs },
    { name: 'longest silence of a chat, ms', value: Math.max(waitMs, pauseMs), most: 2000, isSpeed: true },
  ]
}

/** Members and the database fail, while people write, press and stop. */
async function playWithFaults(stage: Stage, people: People, options: PlayOptions): Promise<readonly Figure[]> {
  let isOver = false
  const giving = give(people, options.rate * restartingShare, everything, () => isOver)
  await playFaults(stage, options)
  await untilReady(stage.members)
  isOver = true
  await giving
  await people.settled()
  const waits = waitsOf(stage.server, people.given).toSorted((one, other) => one - other)
  const { kills, stops, crashes } = options
  return [
    { name: 'members killed', value: kills },
    { name: 'members stopped', value: stops },
    { name: 'crashes of PostgreSQL', value: crashes },
    { name: 'message to prompt: p50, ms', value: percentile(waits, 0.5) },
    { name: 'message to prompt: p99, ms', value: percentile(waits, 0.99) },
  ]
}

/** Lets people write at random times, that many messages in a second on average. */
async function give(people: People, rate: number, mix: Mix, isOver: () => boolean): Promise<void> {
  for (let next = Date.now(); !isOver(); ) {
    people.giveNext(mix)
    next += (people.random() * 2000) / rate
    await pause(Math.max(0, next - Date.now()))
  }
}

/** How long the tasks waited for the agent, in ms. Those that it never got count as endless. */
function waitsOf(server: Stage['server'], given: readonly Given[]): readonly number[] {
  const heardAt = new Map(server.tasks.map(({ task, at }) => [task.token, at]))
  return given
    .filter(({ kind }) => kind !== 'real')
    .map(({ token, at }) => (heardAt.get(token) ?? Number.POSITIVE_INFINITY) - at)
}

/** Returns the value below which that share of them is. 0 without values. */
function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

/** Returns the longest time without a change between two times, in ms. */
function longestPause(changedAt: readonly number[], from: number, to: number): number {
  const times = [from, ...changedAt.filter((at) => at > from && at < to), to]
  return Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? from)))
}

/** `lateCalls` is how many calls may reach a platform after the lease of their member has ended. */
function figuresOf(judged: Judged, lateCalls: number): readonly Figure[] {
  return [
    { name: 'tasks', value: judged.tasks },
    { name: 'presses', value: judged.presses },
    { name: 'stops', value: judged.stops },
    { name: 'tasks lost', value: judged.lost, most: 0 },
    { name: 'tasks refused, and the chat told', value: judged.refused },
    { name: 'tasks put aside, and the chat told', value: judged.putAside, most: 0 },
    { name: 'tasks run twice', value: judged.runTwice, most: 0 },
    { name: 'tasks run in another order on Telegram', value: judged.disordered, most: 0 },
    { name: 'tasks run in another order on Slack', value: judged.disorderedOnSlack },
    { name: 'answers shown', value: judged.finals },
    { name: 'messages that stay', value: judged.shown },
    { name: 'shown twice', value: judged.doubled },
    { name: 'posts in doubt', value: judged.doubtful },
    { name: 'shown twice beyond those of the same chat', value: judged.doubledSurely, most: 0 },
    { name: 'the same for a while, and then removed', value: judged.doubledForAWhile, most: lateCalls },
    {
      name: 'messages that stay in doubt, % of all that stay',
      ...{ value: (100 * judged.doubtfulLasting) / Math.max(1, judged.shown), most: 1 },
    },
    { name: 'finals overwritten by an older text', value: judged.overwritten, most: 0 },
    { name: 'calls rate-limited', value: judged.rateLimited, most: 0 },
    { name: 'typing rate-limited', value: judged.typingRateLimited, most: 0 },
    { name: 'permissions answered twice or wrongly', value: judged.wrongAnswers, most: 0 },
    { name: 'permissions answered too late', value: judged.lateAnswers, most: 0, isSpeed: true },
    { name: 'tasks stopped by no one', value: judged.wrongStops, most: 0 },
  ]
}
