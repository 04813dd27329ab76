import type { FaultProxy, PassedFrame, ProxyFault, StreamPlace } from '@reply/testing'
import { seededRandom } from '@reply/testing/internal'
import { checkMs } from '../../src/drive/connection/recheck.ts'
import type { ReplyStream } from '../../src/index.ts'
import { type Faulty, type LivePlan, type LivePlayed, playLive } from './faulty.ts'
import { judge, timelessPicture } from './live-truth.ts'
import { eventually } from './patience.ts'
import { untouch } from './scenes.ts'

export interface SeededPlan extends LivePlan {
  /** A description for the report of a failure. */
  readonly words: string
}

/** Problems of a played plan; empty if there are none. */
export async function problemsOfLive(faulty: Faulty, plan: LivePlan, whole: LivePlayed): Promise<string[]> {
  let played: LivePlayed
  try {
    played = await playLive(faulty, plan)
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
  return await problemsOfPlayed(faulty, { plan, played, whole })
}

/** Problems of a played run, compared with the server and with the same run without faults. */
export async function problemsOfPlayed(
  faulty: Faulty,
  run: { readonly plan: LivePlan; readonly played: LivePlayed; readonly whole: LivePlayed },
): Promise<string[]> {
  const { plan, played, whole } = run
  const found = await judge(faulty.server, played)
  if (plan.restarts && played.reply.outcome === 'lost') return [...found, ...lostProblems(played, whole)]
  return [...found, ...unequal(timelessPicture(played.reply), timelessPicture(whole.reply), 'reply')]
}

/** Plays a plan, and compares it with the server and with the same plan without faults. */
export async function playBeside(
  faulty: Faulty,
  { plan, without }: { readonly plan: LivePlan; readonly without: LivePlan },
): Promise<{ readonly played: LivePlayed; readonly problems: readonly string[] }> {
  const whole = await playLive(faulty, without)
  await untouch(faulty)
  const played = await playLive(faulty, plan)
  return { played, problems: await problemsOfPlayed(faulty, { plan, played, whole }) }
}

/** The first few places where two values of plain data differ. */
function unequal(mine: unknown, wanted: unknown, path: string): string[] {
  if (typeof mine !== 'object' || typeof wanted !== 'object' || mine === null || wanted === null) {
    return mine === wanted ? [] : [`${path} is ${JSON.stringify(mine)}, uncut ${JSON.stringify(wanted)}`]
  }
  const [ours, theirs] = [new Map(Object.entries(mine)), new Map(Object.entries(wanted))]
  const keys = [...new Set([...ours.keys(), ...theirs.keys()])]
  return keys.flatMap((key) => unequal(ours.get(key), theirs.get(key), `${path}.${key}`)).slice(0, 4)
}

/** A run that died with its server has said a prefix of its full answer. */
function lostProblems({ reply }: LivePlayed, whole: LivePlayed): string[] {
  const all = whole.reply.messages.flatMap((message) => message.parts)
  const said = reply.messages.flatMap((message) => message.parts)
  return said.flatMap((part, index) => {
    const other = all[index]
    if (other?.type !== part.type) return [`part ${index} is a ${part.type}, not a ${other?.type}`]
    if (!('text' in part) || !('text' in other) || other.text.startsWith(part.text)) return []
    return [
      `part ${index} says ${JSON.stringify(part.text)}, which is not a beginning of ${JSON.stringify(other.text)}`,
    ]
  })
}

/** Random plans: the same seed gives the same plan. `events` is the length of an uncut run. */
export function livePlanBySeed(
  seed: number,
  options: { readonly events: number; readonly restart?: () => Promise<void> },
): SeededPlan {
  const { events, restart } = options
  const random = seededRandom(seed)
  const pick = (below: number): number => Math.floor(random() * below)
  const from = <T>(list: readonly [T, ...T[]]): T => list[pick(list.length)] ?? list[0]
  const faults = Array.from({ length: 1 + pick(3) }, () => faultBy(pick, from, events))
  const hasStall = faults.some((fault) => fault.type === 'stall')
  const refuseAt = random() < 0.2 ? 1 + pick(events) : undefined
  const restartAt = restart && events / 4 + pick(events / 2)
  const times = { refuseAt, restartAt: restartAt && Math.round(restartAt) }
  let restarting: Promise<void> | undefined
  return {
    words: JSON.stringify({ faults, ...times }, (_, value) => (value instanceof RegExp ? String(value) : value)),
    faults,
    restarts: restart !== undefined,
    // Silence is noticed after a second of real time: a busy server is silent for some tenths of one.
    ...(hasStall && { connect: { silenceMs: 10_000 } }),
    // A server that is just starting (1.18.33) accepts requests that it never answers.
    ...(restart && { connect: { firstFrameMs: 5000, silenceMs: 30_000, deadlineMs: 30_000 } }),
    onFrame: (frame: PassedFrame, proxy: FaultProxy) => {
      if (frame.connection > 1) return
      if (frame.event === times.refuseAt) refuseFor(proxy, 20 + (seed % 100))
      if (restart && frame.event === times.restartAt) restarting ??= restart()
    },
    act: async ({ stream }) => {
      await stream.result
      await restarting
    },
  }
}

/** How long new connections lack events here, in ms: certainly less than a client looks for sessions to read again. */
export const uncertainMs = checkMs / 2

function faultBy(
  pick: (below: number) => number,
  from: <T>(list: readonly [T, ...T[]]) => T,
  events: number,
): ProxyFault {
  const connection = 1 + pick(3)
  const at: StreamPlace = from([{ events: 1 + pick(events) }, { bytes: 200 + pick(events * 300) }])
  const reading = /^\/(session\/.+|session\/status|question|permission)$/
  return from<ProxyFault>([
    { type: 'cut', at, how: from(['break', 'end']), connection },
    { type: 'cut', at, how: from(['break', 'end']), connection },
    { type: 'stall', at, connection },
    { type: 'drop', connection },
    { type: 'delay', delayMs: 1 + pick(60), connection },
    { type: 'duplicate', event: 1 + pick(events), connection },
    { type: 'duplicate', connection },
    { type: 'answer', with: from<500 | 'html'>([500, 'html']), path: /\/event$/, times: 1 + pick(3) },
    { type: 'answer', with: from<500 | 'html'>([500, 'html']), method: 'GET', path: reading, times: 1 + pick(3) },
    { type: 'reset', method: 'GET', path: reading, times: 1 + pick(4) },
    { type: 'reset', path: /\/event$/, times: 1 + pick(3) },
    { type: 'lose-answer', method: 'POST', path: /\/prompt_async$/ },
  ])
}

function refuseFor(proxy: FaultProxy, durationMs: number): void {
  void proxy.refuse().then(() => setTimeout(() => void proxy.resume(), durationMs))
}

/** A stream falls silent after so many events, which the client must notice. */
export async function problemsOfSilence(faulty: Faulty, whole: LivePlayed, events: number): Promise<readonly string[]> {
  const plan: LivePlan = {
    faults: [{ type: 'stall', at: { events }, connection: 1 }],
    connect: { silenceMs: 10_000 },
    // The run may be read over REST before the silence is noticed.
    act: async ({ errors }) =>
      await eventually(60_000, async () =>
        errors.find(({ message }) => message.includes('was silent for 10000 ms')),
      ).then(() => {}),
  }
  const played = await playLive(faulty, plan)
  return await problemsOfPlayed(faulty, { plan, played, whole })
}

/** Cuts a run after every nth of its events, each in its own run. */
export async function problemsOfCuts(
  faulty: Faulty,
  { whole, first, step }: { readonly whole: LivePlayed; readonly first: number; readonly step: number },
): Promise<readonly string[]> {
  const problems: string[] = []
  for (let events = first; events <= whole.events && problems.length < 10; events += step) {
    const how = Math.floor(events / step) % 2 === 0 ? 'end' : 'break'
    const found = await problemsOfLive(faulty, { faults: [{ type: 'cut', at: { events }, how, connection: 1 }] }, whole)
    problems.push(...found.map((problem) => `cut (${how}) after event ${events}: ${problem}`))
  }
  return problems
}

/**
 * Aborts a short run so many events before its end, each in its own run. Either the abort or the end comes first; both
 * settle the reply once.
 */
export async function problemsOfRaces(faulty: Faulty, eventsBefore: readonly number[]): Promise<readonly string[]> {
  const plain = await playLive(faulty, { script: 'plain' })
  const problems: string[] = []
  for (const before of eventsBefore) {
    let stream: ReplyStream | undefined
    const played = await playLive(faulty, {
      script: 'plain',
      onFrame: ({ connection, event }) => {
        if (connection === 1 && event === plain.events - before) void stream?.abort()
      },
      act: async (scene) => {
        stream = scene.stream
        await stream.result
        await stream.abort()
      },
    })
    const { outcome } = played.reply
    const found =
      outcome === 'completed'
        ? await problemsOfPlayed(faulty, { plan: {}, played, whole: plain })
        : await judge(faulty.server, played)
    if (outcome !== 'completed' && outcome !== 'aborted') found.push(`the reply is ${outcome}`)
    problems.push(...found.map((problem) => `abort ${before} events before the end: ${problem}`))
  }
  return problems
}

/** Plays a plan for each seed. The last `restarts` of them restart the server. */
export async function problemsOfSeeds(
  faulty: Faulty,
  {
    whole,
    first,
    count,
    restarts,
  }: { readonly whole: LivePlayed; readonly first: number; readonly count: number; readonly restarts: number },
): Promise<readonly string[]> {
  const problems: string[] = []
  for (let seed = first; seed < first + count && problems.length < 10; seed++) {
    const isRestarted = seed >= first + count - restarts
    const plan = livePlanBySeed(seed, { events: whole.events, ...(isRestarted && { restart: faulty.restart }) })
    const found = await problemsOfLive(faulty, plan, whole)
    problems.push(...found.slice(0, 2).map((problem) => `seed ${seed} (${plan.words}): ${problem}`))
  }
  return problems
}
