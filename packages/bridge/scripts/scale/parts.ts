import { readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { actionFigures } from './actions.ts'
import { type FaultCounts, playFaults } from './faults.ts'
import { type Figure, isMissed, percentile } from './figure.ts'
import { type Judged, judge } from './judge.ts'
import { cpuMsBelow } from './member.ts'
import { pauseWithOneBridge, platforms } from './one-bridge.ts'
import { createPeople, type Given, type Mix, type People } from './people.ts'
import { type Stage, type StageSize, startStage, untilReady, untilShared } from './stage.ts'
import { createTakeovers } from './takeovers.ts'
import { ownCommand } from './version.ts'
import { waitsOf } from './waits.ts'

/** What to play. */
export interface PlayOptions extends Omit<StageSize, 'commands'>, FaultCounts {
  readonly members: number
  /** Messages in a second, in the part without faults. The other parts have a quarter. */
  readonly rate: number
  /**
   * The `reply` command of another version. Half of the members run it. In the part `deploy`, all do, and each is replaced by this
   * version when it is restarted. Default: all members run this version.
   */
  readonly otherCommand?: string | undefined
  /** Ends the part: it rejects, and the logs are kept. */
  readonly signal?: AbortSignal
  /** Told what happens, in one line. */
  readonly onProgress?: (line: string) => void
}

/** What a part found. */
export interface PartResult {
  readonly part: PartName
  readonly figures: readonly Figure[]
  /** What is wrong, in words, beside missed goals. */
  readonly wrong: readonly string[]
  /** The version of PostgreSQL, for example `17`. */
  readonly postgres: string
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
/**
 * The part of the rate at which people then answer and stop in the part without faults. Each takes three to four calls, and Slack
 * allows an app 50 edits a minute.
 */
const actingShare = 0.1
/** How many do, for each chat. */
const actionsPerChat = 0.15
/** How often it is told what goes on, in ms. */
const progressMs = 15_000
/** Before latencies count, in messages. They compile the code. */
const warmUps = 20
/**
 * Where answers are being written all through a rolling restart. On Telegram, growing texts may use 20 of the bot's 25 calls a second:
 * those of the other people take 13, and each of these takes 0.9. Four leave room for the moments in which one bridge has more of them
 * than its share carries. With six, a seventh of the restarts in `live-budgets.full.ts` would miss the goal. On Slack, one and those of
 * the others nearly use up the limit of a minute.
 */
const liveAnswers = ['tg', 'slack', 'tg', 'tg', 'tg'] as const
/**
 * The longest silence of a chat in a rolling restart, in ms, unless the limits of its platform allow no better, and the longest that chats
 * may be without an owner when they get another one without a fault. Longer than most people wait for an answer before they wonder.
 */
const mostSilentMs = 2000
/** How long they could be written, in ms. They are stopped at the end of the part. */
const maxLiveMs = 600_000
/** The longest that chats may be without an owner after the last fault that hit them, in ms. */
const mostTakeoverMs = 8000
/** How long all shards may take to have an owner after the last fault, in ms. Longer than any takeover, also on a slow machine. */
const mostTakenMs = 120_000
/** Before the first restart of a rolling restart, after each has its part of the shards again, and until the last action is seen, in ms. */
const steadyMs = 3000

export const doubtfulShare = 'messages that stay in doubt, % of all that stay'
/** What docs/scale.md reckons with. */
export const bridgeCpu = 'CPU of all bridges for a message, ms'
export const postgresCpu = 'CPU of PostgreSQL for a message, ms'

/** 20 in a second are 18 posts on Telegram, which allows a bot 30. */
const posts: Mix = { answerMs: [0, 0], ask: 0, typed: 0, hold: 0, real: 0, burst: 0 }
const actions: Mix = { ...posts, ask: 2 / 3, typed: 0.5, hold: 1 / 3 }
const answers: Mix = { ...posts, answerMs: [0, 3000] }
const everything: Mix = { ...answers, ask: 0.15, typed: 0.3, hold: 0.1, real: 0.02, burst: 0.3 }

/** Plays one part on a stage of its own. Rejects if the stage can't be started. */
export async function playPart(part: PartName, options: PlayOptions): Promise<PartResult> {
  const stage = await startStage({ ...options, commands: commandsOf(part, options) })
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
    const postgres = readFileSync(join(stage.postgres.root, 'data/PG_VERSION'), 'utf8').trim()
    return { part, figures, wrong: judged.wrong, postgres, logs: isKept ? stage.folder : undefined }
  } finally {
    people.stop()
    clearInterval(reporting)
    if (isKept) stage.writeLogs()
    await stage.close(isKept)
  }
}

/** Returns what each member runs in the beginning. */
function commandsOf(part: PartName, { members, otherCommand = ownCommand }: PlayOptions): readonly string[] {
  return Array.from({ length: members }, (_, index) =>
    part === 'deploy' || index % 2 === 1 ? otherCommand : ownCommand,
  )
}

/** Rejects with the place of the logs when the signal aborts. */
async function untilAborted(signal: AbortSignal | undefined, { folder }: Stage): Promise<never> {
  return await new Promise((_, reject) => {
    const abort = (): void => reject(new Error(`It was interrupted. The logs are in ${folder}.`))
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
  })
}

/** People write at the full rate, as many messages as there are chats. Then a few answer and stop what agents do. */
async function playCalm(stage: Stage, people: People, { rate, chats }: PlayOptions): Promise<readonly Figure[]> {
  const { telegram, balancer } = stage
  const before = cpuOf(stage)
  const until = Date.now() + (1000 * (chats + warmUps)) / rate
  await give(people, rate, posts, () => Date.now() > until)
  await people.settled()
  const after = cpuOf(stage)
  const written = people.given.slice()
  const measured = written.slice(warmUps)
  const waits = waitsOf(seenBy(stage), measured).map(({ allMs }) => allMs)
  const [calls, deliveries] = [telegram.calls.length, balancer.deliveries.length]
  await give(people, rate * actingShare, actions, () => people.given.length >= written.length + chats * actionsPerChat)
  await people.settled()
  // A run ends before its chat says that it was stopped.
  await pause(steadyMs)
  const seen = { calls: telegram.calls.slice(calls), deliveries: balancer.deliveries.slice(deliveries) }
  return [
    { name: 'message to prompt: p50, ms', value: percentile(waits, 0.5) },
    { name: 'message to prompt: p99, ms', value: percentile(waits, 0.99), most: 250, isSpeed: true },
    { name: 'message to prompt: worst, ms', value: percentile(waits, 1) },
    ...answerFigures(measured),
    ...actionFigures(people.actions, seen),
    { name: bridgeCpu, value: (after.membersMs - before.membersMs) / written.length },
    { name: postgresCpu, value: (after.postgresMs - before.postgresMs) / written.length },
  ]
}

/** Returns the CPU time of all members, and that of PostgreSQL, in ms. */
function cpuOf({ members, postgres }: Stage): { readonly membersMs: number; readonly postgresMs: number } {
  return {
    membersMs: members.reduce((sum, member) => sum + member.cpuMs(), 0),
    postgresMs: cpuMsBelow(Number(readFileSync(join(postgres.root, 'data/postmaster.pid'), 'utf8').split('\n')[0])),
  }
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
  const { members } = stage
  const live = liveAnswers
    .map((channel) => people.give('answer', maxLiveMs, channel))
    .filter((one) => one !== undefined)
  let isOver = false
  const giving = give(people, rate * restartingShare, answers, () => isOver)
  await pause(steadyMs)
  for (const member of members) {
    const before = Date.now()
    await member.restart(ownCommand)
    await untilReady(members)
    onProgress?.(`${member.name} is back after ${Date.now() - before} ms.`)
  }
  // The others hand chats to the last one some seconds after it is ready, also those with answers that grow.
  const before = Date.now()
  await untilShared(members)
  onProgress?.(`Each has its part of the shards after ${Date.now() - before} ms.`)
  await pause(steadyMs)
  isOver = true
  await giving
  const endedAt = Date.now()
  const pauses = await pausesOf(live, stage, people, endedAt)
  for (const { chat, stops } of live) {
    stops.push(Date.now())
    chat.say('/stop')
  }
  await people.settled()
  const others = people.given.filter((one) => !live.includes(one))
  const waitMs = Math.max(0, ...waitsOf(seenBy(stage), others).map(({ allMs }) => allMs))
  return [{ name: 'longest wait for a prompt, ms', value: waitMs, most: mostSilentMs, isSpeed: true }, ...pauses]
}

/** Returns the longest pause of a live answer on each platform, and the one that a single bridge would have shown at that load. */
async function pausesOf(
  live: readonly Given[],
  { server }: Stage,
  { given, screenOf }: People,
  endedAt: number,
): Promise<readonly Figure[]> {
  const msOf = new Map(server.tasks.map(({ task }) => [task.token, task.ms]))
  const channels = [...new Set(live.map(({ chat }) => chat.channel))]
  const figures = channels.map(async (channel): Promise<readonly Figure[]> => {
    const ofChannel = given.filter(({ chat, kind }) => chat.channel === channel && kind === 'answer')
    const answers = ofChannel.map((one) => {
      const to = Math.min(endedAt, one.at + (msOf.get(one.token) ?? 0))
      return { from: one.at, to, isLive: live.includes(one) }
    })
    const alone = await pauseWithOneBridge(platforms[channel], answers)
    const watched = live.filter(({ chat }) => chat.channel === channel)
    const pauses = watched.map(({ chat, at }) => longestPause(screenOf(chat).changedAt, at, endedAt))
    return [
      { name: `longest pause of a live answer on ${channel} with one bridge, by its pacer, ms`, value: alone },
      {
        name: `longest pause of a live answer on ${channel}, ms`,
        value: Math.max(0, ...pauses),
        most: Math.round(Math.max(mostSilentMs, alone)),
        isSpeed: true,
      },
    ]
  })
  return (await Promise.all(figures)).flat()
}

/** Members and the database fail, while people write, press and stop. */
async function playWithFaults(stage: Stage, people: People, options: PlayOptions): Promise<readonly Figure[]> {
  let isOver = false
  const giving = give(people, options.rate * restartingShare, everything, () => isOver)
  const takeovers = createTakeovers(stage.members, Date.now)
  const looking = setInterval(takeovers.look, 20)
  try {
    await playFaults(stage, options, takeovers)
    await untilReady(stage.members)
    const allTakenBy = Date.now() + mostTakenMs
    while (takeovers.open().length > 0) {
      if (Date.now() > allTakenBy) throw new Error(`No bridge takes the shards ${takeovers.open().join(', ')}.`)
      await pause(20)
    }
  } finally {
    clearInterval(looking)
  }
  const { takenOverMs, struckAgain, handedOverMs } = takeovers
  isOver = true
  await giving
  await people.settled()
  const waits = waitsOf(seenBy(stage), people.given)
  const all = waits.map(({ allMs }) => allMs)
  const { kills, stops, crashes } = options
  return [
    { name: 'members killed', value: kills },
    { name: 'members stopped', value: stops },
    { name: 'crashes of PostgreSQL', value: crashes },
    { name: 'shards taken over after a fault', value: takenOverMs.length },
    { name: 'takeover: p50, ms', value: percentile(takenOverMs, 0.5) },
    { name: 'takeover: worst, ms', value: percentile(takenOverMs, 1), most: mostTakeoverMs, isSpeed: true },
    { name: 'shards struck again before they were taken over', value: struckAgain.length },
    {
      name: 'takeover of those from the last fault: worst, ms',
      value: Math.max(0, ...struckAgain.map(({ sinceLastMs }) => sinceLastMs)),
      ...{ most: mostTakeoverMs, isSpeed: true },
    },
    {
      name: 'takeover of those from the first fault: worst, ms',
      value: Math.max(0, ...struckAgain.map(({ sinceFirstMs }) => sinceFirstMs)),
    },
    { name: 'shards handed over without a fault', value: handedOverMs.length },
    { name: 'handover: worst, ms', value: Math.max(0, ...handedOverMs), most: mostSilentMs, isSpeed: true },
    { name: 'message to prompt: p50, ms', value: percentile(all, 0.5) },
    { name: 'message to prompt: p99, ms', value: percentile(all, 0.99) },
    {
      name: 'message to prompt, until a bridge took it: p99, ms',
      value: percentile(
        waits.map(({ untilTakenMs }) => untilTakenMs),
        0.99,
      ),
    },
    {
      name: 'message to prompt, from then on: p99, ms',
      value: percentile(
        waits.map(({ sinceTakenMs }) => sinceTakenMs),
        0.99,
      ),
    },
  ]
}

/** Returns what the platforms delivered, and what the agent got. */
function seenBy({ server, balancer }: Stage): Parameters<typeof waitsOf>[0] {
  return { tasks: server.tasks, deliveries: balancer.deliveries }
}

/** Lets people write at random times, that many messages in a second on average. */
async function give(people: People, rate: number, mix: Mix, isOver: () => boolean): Promise<void> {
  for (let next = Date.now(); !isOver(); ) {
    people.giveNext(mix)
    next += (people.random() * 2000) / rate
    await pause(Math.max(0, next - Date.now()))
  }
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
    { name: 'tasks refused, and the chat told', value: judged.refused, most: 0 },
    { name: 'tasks put aside, and the chat told', value: judged.putAside, most: 0 },
    { name: 'tasks run twice', value: judged.runTwice, most: 0 },
    { name: 'tasks run in another order on Telegram', value: judged.disordered, most: 0 },
    { name: 'tasks run in another order on Slack', value: judged.disorderedOnSlack },
    { name: 'tasks run before one received earlier', value: judged.disorderedAsReceived, most: 0 },
    { name: 'answers shown', value: judged.finals },
    { name: 'messages that stay', value: judged.shown },
    { name: 'shown twice', value: judged.doubled },
    { name: 'posts in doubt', value: judged.doubtful },
    { name: 'shown twice beyond those of the same chat', value: judged.doubledSurely, most: 0 },
    { name: 'the same for a while, and then removed', value: judged.doubledForAWhile, most: lateCalls },
    { name: 'at work for ever beyond those of the same chat', value: judged.unfinished, most: 0 },
    {
      name: doubtfulShare,
      ...{ value: (100 * judged.doubtfulLasting) / Math.max(1, judged.shown), most: 1 },
    },
    { name: 'finals overwritten by an older text', value: judged.overwritten, most: 0 },
    { name: 'finals deleted', value: judged.deleted, most: 0 },
    { name: 'calls rate-limited', value: judged.rateLimited, most: 0 },
    { name: 'typing rate-limited', value: judged.typingRateLimited, most: 0 },
    { name: 'permissions answered twice or wrongly', value: judged.wrongAnswers, most: 0 },
    { name: 'permissions answered too late', value: judged.lateAnswers, most: 0 },
    { name: 'tasks stopped by no one', value: judged.wrongStops, most: 0 },
  ]
}
