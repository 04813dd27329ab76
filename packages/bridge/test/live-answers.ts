import { steadyClock } from '@reply/core/internal'
import { createPacer } from '@reply/sink/channel'
import { createHandClock } from '@reply/testing'
import { callMs, type Platform, writeAnswer } from '../scripts/scale/one-bridge.ts'
import { createMemberBudgets } from '../src/members/budgets.ts'
import { createMembership } from '../src/members/membership.ts'
import { createMemoryStore, createStoreMemory } from '../src/testing.ts'

/** What members write, and when they restart. */
export interface Play {
  readonly platform: Platform
  readonly members: number
  /** Answers that are written all the time. */
  readonly live: number
  /** Further answers in a second, of up to 3 s each. */
  readonly shortPerSecond: number
  /** Before the first restart, in ms: longer than the window of the limit. */
  readonly steadyMs: number
  /** How many members restart, one after the other. */
  readonly restarts: number
  /** Decides when the further answers begin, and how long they are. Default 1. */
  readonly seed?: number
}

/** How long an answer is without an owner when its chat moves, in ms. */
const takeoverMs = 300
/** How long a process takes to start, in ms. */
const startMs = 1500
/** After a restart, before the next one, in ms. */
const restingMs = 3000
const tickMs = 50

/** An answer that is written. */
interface Answer {
  readonly id: string
  readonly isLive: boolean
  /** When its chat showed more of it. */
  readonly shownAt: number[]
  readonly until: number
  member: Member | undefined
  /** The pace of its chat at its present member. */
  pace: ReturnType<Member['pacer']['chat']> | undefined
  /** Stops the writing at its present member. */
  stop: () => void
}

type Member = ReturnType<typeof createMember>

/** A process with a pacer, whose budgets are divided with others over a state. */
function createMember(name: string, { platform: { limits }, memory, clock }: Shared) {
  const nothing = (): void => {}
  const pacer = createPacer({ clock })
  const own = steadyClock(clock)
  const store = createMemoryStore({ memory, clock })
  const budgets = createMemberBudgets({
    connections: new Map([['one', { budgets: pacer.sharedBudgets(limits) }]]),
    clock: own,
    isHeld: () => membership.isHeld(),
    beat: async () => await membership.beat(),
  })
  const membership = createMembership({
    ...{ store, member: name, clock: own },
    ...{ onGranted: nothing, onLost: nothing, onExcess: nothing, onWaiting: nothing, onStalled: nothing },
    ...{ onBack: nothing, onJoined: nothing, onLeft: nothing, onBeat: budgets.apply, used: budgets.used },
    request: () => ({ layout: '1', wants: {}, budgets: budgets.request() }),
  })
  const unwatch = store.watch((hint) => hint === 'demand' && void membership.beat().catch(nothing))
  const answers = new Set<Answer>()
  const leave = async (): Promise<void> => {
    unwatch()
    await membership.leave()
  }
  return { pacer, answers, join: membership.join, leave }
}

interface Shared extends Pick<Play, 'platform'> {
  readonly memory: ReturnType<typeof createStoreMemory>
  readonly clock: ReturnType<typeof createHandClock>
}

/** Lets beats and what they lead to settle. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await undefined
}

/** Plays members on one clock. Resolves with how long the live answers paused, and how many calls were made. */
export async function playAnswers({ platform, members: count, ...play }: Play) {
  const clock = createHandClock()
  const { limits } = platform
  const shared = { platform, memory: createStoreMemory(), clock }
  const calls: number[] = []
  /** Those that showed more of an answer, which Slack counts apart. */
  const growing: number[] = []
  const answers: Answer[] = []
  const members: Member[] = []
  let names = 0
  let { seed = 1 } = play
  for (let index = 0; index < count; index++) await join()
  await work(2500)
  for (let index = 0; index < play.live; index++) begin(Number.POSITIVE_INFINITY)
  await work(play.steadyMs)
  const from = clock.now()
  for (let restart = 0; restart < play.restarts; restart++) {
    const leaving = members.shift()
    const moving = [...(leaving?.answers ?? [])]
    for (const answer of moving) answer.stop()
    await clock.advance(callMs, settle)
    await leaving?.leave()
    await move(moving)
    await work(startMs)
    await join()
    await work(1000)
    await move(
      members.flatMap((one) => [...one.answers].slice(0, Math.floor(one.answers.size / members.length))),
      members.at(-1),
    )
    await work(restingMs)
  }
  await work(10_000)
  const to = clock.now()
  for (const member of members) await member.leave()
  const pauses = answers.flatMap(({ isLive, shownAt }) => (isLive ? [longestPause(shownAt, from, to)] : []))
  return {
    longestPauseMs: Math.max(...pauses),
    callsWithin: (ms: number) => mostWithin(calls, ms),
    growingCallsWithin: (ms: number) => mostWithin(growing, ms),
    calls: calls.filter((at) => at > from).length,
  }

  /** https://en.wikipedia.org/wiki/Lehmer_random_number_generator */
  function random(): number {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647
  }

  async function join(): Promise<void> {
    const member = createMember(`${names++}`, shared)
    await member.join()
    members.push(member)
  }

  /** Lets time pass, in which short answers begin. */
  async function work(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += tickMs) {
      if (random() < (play.shortPerSecond * tickMs) / 1000) begin(3000 * random())
      await clock.advance(tickMs, settle)
    }
  }

  function begin(ms: number): void {
    const answer: Answer = {
      ...{ id: `${answers.length}`, isLive: ms === Number.POSITIVE_INFINITY, shownAt: [clock.now()] },
      ...{ until: clock.now() + ms, member: undefined, pace: undefined, stop: () => {} },
    }
    answers.push(answer)
    write(answer)
  }

  /** Lets a member go on with these answers, by default those that have the fewest. */
  async function move(moving: readonly Answer[], to?: Member): Promise<void> {
    for (const answer of moving) answer.stop()
    await work(takeoverMs)
    for (const answer of moving) write(answer, to)
  }

  /** Writes an answer as a sink does, by default at the member that has the fewest. */
  function write(answer: Answer, to?: Member): void {
    answer.member?.answers.delete(answer)
    const [fewest] = members.toSorted((one, other) => one.answers.size - other.answers.size)
    const member = to ?? fewest
    if (!member) throw new Error('There is no member.')
    answer.member = member
    member.answers.add(answer)
    const pace = member.pacer.chat({ id: answer.id }, limits)
    const recent = answer.pace?.recentCalls()
    if (recent) pace.addRecentCalls(recent)
    answer.pace = pace
    answer.stop = writeAnswer({
      ...{ pace, platform, clock, until: answer.until, isBegun: answer.shownAt.length > 1 },
      onShown: (isOver) => {
        calls.push(clock.now())
        if (answer.shownAt.length > 1 && !isOver) growing.push(clock.now())
        answer.shownAt.push(clock.now())
        if (isOver) member.answers.delete(answer)
      },
    })
  }
}

/** Returns the most calls within any time of that length. */
function mostWithin(calls: readonly number[], ms: number): number {
  let first = 0
  let most = 0
  for (const [last, at] of calls.entries()) {
    while ((calls[first] ?? at) <= at - ms) first += 1
    most = Math.max(most, last - first + 1)
  }
  return most
}

function longestPause(shownAt: readonly number[], from: number, to: number): number {
  const times = [from, ...shownAt.filter((at) => at >= from), to]
  return Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? at)))
}
