import { pause, steadyClock } from '@reply/core/internal'
import { createPacer } from '@reply/sink/channel'
import { createHandClock } from '@reply/testing'
import { callMs, type Platform, writeAnswer } from '../scripts/scale/one-bridge.ts'
import { createMemberBudgets } from '../src/members/budgets.ts'
import { createMembership } from '../src/members/membership.ts'
import { createOwnedShards } from '../src/shards/owned-shards.ts'
import type { Shard } from '../src/shards/shard.ts'
import { allShards, shardLeasePrefix } from '../src/state/shard-of.ts'
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

/** How long a shard takes to be restored, in ms. */
const restoreMs = 150
/** How long a process takes to start, and from when it is a member until it takes shards, in ms. */
const startMs = 1500
const connectMs = 100
/** How long a process that stops hands over its shards at most, in ms. */
const handOverMs = 9000
/** Longer than it takes until the members have joined or restarted, and shards are even, in ms. */
const evenMs = 12_000
const tickMs = 50

/** An answer that is written. */
interface Answer {
  readonly id: string
  readonly isLive: boolean
  /** When its chat showed more of it. */
  readonly shownAt: number[]
  readonly until: number
  /** The pace of its chat at its present member. */
  pace: ReturnType<Member['pacer']['chat']> | undefined
  /** Stops the writing at its present member. */
  stop: () => void
}

type Member = ReturnType<typeof createMember>

interface Shared extends Pick<Play, 'platform'> {
  readonly memory: ReturnType<typeof createStoreMemory>
  readonly clock: ReturnType<typeof createHandClock>
  /** By the name of a shard: the answers that are written in its chats. */
  readonly answersIn: ReadonlyMap<string, Set<Answer>>
  /** Writes an answer as a sink does. */
  readonly write: (answer: Answer, member: Member) => void
}

/** A process with a pacer, whose budgets and shards are divided with others over a state, in the code of the bridge. */
function createMember(name: string, { platform: { limits }, memory, clock, answersIn, write }: Shared) {
  const nothing = (): void => {}
  const pacer = createPacer({ clock })
  const own = steadyClock(clock)
  const store = createMemoryStore({ memory, clock })
  const connections = new Map<string, { readonly budgets: ReturnType<typeof pacer.sharedBudgets> }>()
  let wants = {}
  const budgets = createMemberBudgets({
    ...{ connections, clock: own },
    isHeld: () => membership.isHeld(),
    beat: async () => await membership.beat(),
  })
  const shards = createOwnedShards({
    create: ({ name: lease }) => createAnswers(lease.slice(shardLeasePrefix.length)),
    onRestored: ({ name: shard }) => {
      for (const answer of answersIn.get(shard) ?? []) write(answer, member)
    },
    ...{ clock, onDropped: nothing },
    onError: (error) => {
      throw error
    },
  })
  const membership = createMembership({
    ...{ store, member: name, clock: own, used: budgets.used, onBeat: budgets.apply },
    ...{ onGranted: shards.add, onLost: shards.drop, onExcess: ({ shard = 0 }) => shards.giveBack(shard) },
    ...{ onWaiting: nothing, onStalled: nothing, onBack: nothing, onJoined: nothing, onLeft: nothing },
    request: () => ({ layout: '1', wants, budgets: budgets.request() }),
  })
  const unwatch = store.watch((hint) => /^(demand|free)$/.test(hint) && void membership.beat().catch(nothing))
  const member = { pacer, shards, start, stop }
  return member

  /** The answers in the chats of a shard, as far as the owner of shards uses them. */
  function createAnswers(shard: string): Shard {
    const answers = answersIn.get(shard) ?? new Set()
    const unshownForMs = (): number =>
      Math.max(0, ...[...answers].map(({ shownAt }) => clock.now() - (shownAt.at(-1) ?? 0)))
    const stopAnswers = async (): Promise<void> => {
      for (const answer of answers) answer.stop()
      await pause(own, callMs)
    }
    return {
      ...{ name: shard, restore: async () => await pause(own, restoreMs), stop: stopAnswers },
      ...{ runs: () => answers.size, unshownForMs, whenPosted: async () => {}, undoTries: async () => {} },
    } as unknown as Shard
  }

  /** Starts as a bridge does. */
  async function start(): Promise<void> {
    await membership.join()
    connections.set('one', { budgets: pacer.sharedBudgets(limits) })
    await pause(own, connectMs)
    wants = { shard: allShards.map((shard) => `${shardLeasePrefix}${shard}`) }
    await membership.beat()
    await shards.whenRestored()
  }

  /** Stops as a bridge does. */
  async function stop(): Promise<void> {
    unwatch()
    membership.quit()
    await membership.beat()
    await shards.handOver(handOverMs)
    await membership.leave()
  }
}

/** Lets beats and what they lead to settle. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 60; turn++) await undefined
}

/** Plays members on one clock. Resolves with how long the live answers paused, and how many calls were made. */
export async function playAnswers({ platform, members: count, ...play }: Play) {
  const clock = createHandClock()
  const { limits } = platform
  const answersIn = new Map(allShards.map((shard) => [shard, new Set<Answer>()]))
  const shared = { platform, memory: createStoreMemory(), clock, answersIn, write }
  const calls: number[] = []
  /** Those that showed more of an answer, which Slack counts apart. */
  const growing: number[] = []
  const answers: Answer[] = []
  const members: Member[] = []
  let names = 0
  let { seed = 1 } = play
  for (let index = 0; index < count; index++) await join()
  await work(evenMs)
  for (let index = 0; index < play.live; index++) begin(Number.POSITIVE_INFINITY)
  await work(play.steadyMs)
  const from = clock.now()
  for (let restart = 0; restart < play.restarts; restart++) {
    const [leaving] = members
    if (leaving) await workUntil(leaving.stop())
    members.shift()
    await work(startMs)
    await join()
  }
  await work(evenMs)
  const to = clock.now()
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
    members.push(member)
    await workUntil(member.start())
  }

  /** Lets time pass, in which short answers begin. */
  async function work(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += tickMs) {
      if (random() < (play.shortPerSecond * tickMs) / 1000) begin(3000 * random())
      await clock.advance(tickMs, settle)
    }
  }

  /** The same until a member has started or stopped. */
  async function workUntil(done: Promise<void>): Promise<void> {
    let isOver = false
    const noteOver = (): void => {
      isOver = true
    }
    done.then(noteOver, noteOver)
    while (!isOver) await work(tickMs)
    await done
  }

  /** Begins an answer in a random chat. */
  function begin(ms: number): void {
    const shard = allShards[Math.floor(random() * allShards.length)] ?? ''
    const answer: Answer = {
      ...{ id: `${answers.length}`, isLive: ms === Number.POSITIVE_INFINITY, shownAt: [clock.now()] },
      ...{ until: clock.now() + ms, pace: undefined, stop: () => {} },
    }
    answers.push(answer)
    answersIn.get(shard)?.add(answer)
    const owner = members.find((member) => member.shards.find(shard))
    // Otherwise its next owner begins it.
    if (owner) write(answer, owner)
  }

  function write(answer: Answer, { pacer }: Member): void {
    const pace = pacer.chat({ id: answer.id }, limits)
    const recent = answer.pace?.recentCalls()
    if (recent) pace.addRecentCalls(recent)
    answer.pace = pace
    answer.stop = writeAnswer({
      ...{ pace, platform, clock, until: answer.until, isBegun: answer.shownAt.length > 1 },
      onShown: (isOver) => {
        calls.push(clock.now())
        if (answer.shownAt.length > 1 && !isOver) growing.push(clock.now())
        answer.shownAt.push(clock.now())
        if (isOver) for (const ones of answersIn.values()) ones.delete(answer)
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
