import type { Clock } from '@reply/core'
import { steadyClock } from '@reply/core/internal'
import { createPacer } from '@reply/sink/channel'
import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { firstSeed } from '../../../scripts/first-seed.ts'
import { platforms } from '../scripts/scale/one-bridge.ts'
import { createMemberBudgets } from '../src/members/budgets.ts'
import { createMembership } from '../src/members/membership.ts'
import { createMemoryStore, createStoreMemory } from '../src/testing.ts'

/** Calls that Slack limits by the minute, and how many of each all members together may make. */
const totals = { open: 19, edit: 49, append: 98 } as const
const kinds = ['open', 'edit', 'append'] as const
const { limits } = platforms.slack
const minutes = 20
const tickMs = 100
const memberCount = 4

const nothing = (): void => {}

/** Plays members whose processes and database fail at random. Resolves with the most calls of each kind within a minute. */
async function play(seed: number): Promise<Readonly<Record<(typeof kinds)[number], number>>> {
  const random = createRandom(seed)
  const clock = createHandClock()
  const memory = createStoreMemory()
  /** When calls of each kind arrived at the platform. */
  const arrived: Readonly<Record<(typeof kinds)[number], number[]>> = { open: [], edit: [], append: [] }
  let isDown = false
  let created = 0
  let members = Array.from({ length: memberCount }, createMember)
  /** How much of each limit people demand. */
  let demands = kinds.map(() => 1)
  for (let passedMs = 0; passedMs < minutes * 60_000; passedMs += tickMs) {
    if (random() < 0.001) demands = kinds.map(() => [0, 0.1, 0.5, 1, 3][Math.floor(random() * 5)] ?? 1)
    for (const member of members) {
      for (const [index, kind] of kinds.entries()) {
        const each = ((demands[index] ?? 1) * totals[kind] * tickMs) / 60_000 / memberCount
        if (member.waiting[kind] < 30 && random() < each) member.waiting[kind] += 1
        if (random() < 0.0002) member.waiting[kind] += Math.floor(25 * random())
      }
      member.call()
      if (random() < 0.008) member.wake()
    }
    if (random() < 0.0025) fail(members[Math.floor(random() * members.length)])
    if (random() < 0.01) isDown = false
    if (members.length < memberCount && random() < 0.03) members.push(createMember())
    await clock.advance(tickMs, settle)
  }
  return { open: mostIn(arrived.open), edit: mostIn(arrived.edit), append: mostIn(arrived.append) }

  /** Kills, stops or suspends a member, kills all, or lets the database fail. */
  function fail(member: ReturnType<typeof createMember> | undefined): void {
    const what = random()
    if (what > 0.8) isDown = true
    else if (what > 0.7) for (const one of members.splice(0)) one.kill()
    else if (what > 0.5) member?.suspend()
    else {
      members = members.filter((one) => one !== member)
      if (what > 0.15) member?.kill()
      else member?.leave()
    }
  }

  /** A process with a pacer, as a bridge divides its budgets. */
  function createMember() {
    let isDead = false
    /** What its timers are to do once it goes on. */
    let suspended: (() => void)[] | undefined
    const ofProcess: Clock = {
      ...clock,
      after: (ms, run) =>
        clock.after(ms, () => {
          if (suspended) suspended.push(run)
          else if (!isDead) run()
        }),
    }
    const own = steadyClock(ofProcess)
    const pacer = createPacer({ clock: ofProcess })
    const shared = createMemoryStore({ memory, clock })
    const waitsMs = async (ms: number): Promise<void> =>
      await new Promise((done) => void ofProcess.after(ms, () => done()))
    const store: typeof shared = {
      ...shared,
      beat: async (request) => {
        const ms = random() < 0.1 ? 750 * random() : 20 * random()
        await waitsMs(ms)
        if (isDown) throw new Error('The database is gone.')
        const beat = await shared.beat(request)
        await waitsMs(ms)
        if (random() < 0.03) throw new Error('The answer is lost.')
        return beat
      },
    }
    const budgets = createMemberBudgets({
      connections: new Map([['slack', { budgets: pacer.sharedBudgets(limits) }]]),
      clock: own,
      isHeld: () => membership.isHeld(),
      beat: async () => await membership.beat(),
    })
    const membership = createMembership({
      ...{ store, member: `${created++}`, clock: own },
      ...{ onGranted: nothing, onLost: nothing, onExcess: nothing, onWaiting: nothing, onStalled: nothing },
      ...{ onBack: nothing, onJoined: nothing, onLeft: nothing, onBeat: budgets.apply, used: budgets.used },
      request: () => ({ layout: '1', wants: {}, budgets: budgets.request() }),
    })
    const unwatch = shared.watch((hint) => {
      if (!suspended && hint === 'demand') void membership.beat().catch(nothing)
    })
    void membership.join().catch(nothing)
    let chats = 0
    const waiting = { open: 0, edit: 0, append: 0 }
    const kill = (): void => {
      isDead = true
      suspended = undefined
      unwatch()
    }
    return {
      waiting,
      kill,
      leave: () => {
        if (!suspended) void membership.leave().finally(kill)
      },
      suspend: () => {
        suspended ??= []
      },
      wake: () => {
        const runs = suspended?.splice(0) ?? []
        suspended = undefined
        for (const run of runs) run()
      },
      /** Makes the calls that may be made now. Each arrives before it ends. */
      call: () => {
        for (const kind of kinds)
          while (!suspended && membership.isHeld() && waiting[kind] > 0) {
            const pace = pacer.chat({ id: `${chats++}` }, limits)
            const end = pace.readyAt('ask', kind) <= clock.now() ? pace.startCall(kind) : undefined
            if (!end) break
            waiting[kind] -= 1
            const ms = 20 + 200 * random()
            clock.after(ms * random(), () => arrived[kind].push(clock.now()))
            ofProcess.after(ms, () => end())
          }
      },
    }
  }
}

/** https://en.wikipedia.org/wiki/Lehmer_random_number_generator */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

/** Lets beats and what they lead to settle. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await undefined
}

/** Returns the most calls within a minute. */
function mostIn(calls: readonly number[]): number {
  const times = calls.toSorted((one, other) => one - other)
  let first = 0
  let most = 0
  for (const [last, at] of times.entries()) {
    while ((times[first] ?? at) <= at - 60_000) first += 1
    most = Math.max(most, last - first + 1)
  }
  return most
}

const seed = firstSeed('REPLY_BUDGET_FAULTS_SEED')

test.each(Array.from({ length: 6 }, (_, index) => seed + index))(
  'members that are killed, stop and are suspended, and a database that fails, never exceed a limit of a minute, with seed %d',
  async (each) => {
    const most = await play(each)
    for (const kind of kinds) expect(most[kind]).toBeLessThanOrEqual(totals[kind])
    expect(most.append).toBeGreaterThan(totals.append / 2)
  },
)
