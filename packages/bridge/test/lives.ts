import type { Client, Clock } from '@reply/core'
import { pause } from '@reply/core/internal'
import type { BridgeChannel } from '@reply/sink/channel'
import type { Note } from '@reply/sink/internal'
import { createHandClock, type HandClock } from '@reply/testing'
import { type FakeTelegram, startTelegram } from '@reply/testing/telegram'
import { type Bridge, createBridge } from '../src/bridge.ts'
import { parseConfig } from '../src/config/parse.ts'
import type { BridgeConfig } from '../src/config/schema.ts'
import { allShards, shardLeasePrefix } from '../src/state/shard-of.ts'
import { type Store, StoreError, type Write } from '../src/store/store.ts'
import { createMemoryStore, createStoreMemory, type StoreMemory } from '../src/testing.ts'
import { addFields, lostFields } from './newer-fields.ts'
import { createPhone, type Phone } from './phone.ts'
import { telegramOn } from './platforms.ts'
import { faultsForReleased } from './released-rows.ts'
import { keyWithoutShard } from './shard-rows.ts'
import { type Job, survivingAgent } from './surviving-agent.ts'

/** What happens to the first commit of a kind, while its process goes on. */
export const storeFaults = {
  'is made, and answered late': { type: 'late' },
  'finds the state busy once': { type: 'fails', error: 'busy', forMs: 0 },
  'fails once': { type: 'fails', error: 'failed', forMs: 0 },
  'fails for a while': { type: 'fails', error: 'failed', forMs: 3000 },
  'fails for longer than the lease': { type: 'fails', error: 'failed', forMs: 20_000 },
} as const

/** What ends the process at the first commit of a kind. */
export const processFaults = {
  'comes after another process took over': { type: 'fenced' },
  'is not made, because the process dies': { type: 'dies', isMade: false },
  'is made, and the process dies': { type: 'dies', isMade: true },
} as const
/** How long it takes at most until another member has all shards of one that is suspended, in ms. */
const takeoverMs = 6000
/** After how long people are away, in ms. */
export const awayMs = 10_000

export type Fault = (typeof storeFaults)[keyof typeof storeFaults] | (typeof processFaults)[keyof typeof processFaults]

/** Bridges that follow each other on one state, with Telegram and an agent that outlive them, in a time that passes by hand. */
export interface World {
  readonly telegram: FakeTelegram
  readonly clock: HandClock
  readonly memory: StoreMemory
  /** The kinds of commits so far, in the order of their first one, each with its writes and the line of the sources. */
  readonly commits: ReadonlyMap<string, Made>
  /** The prompts that the agent got. */
  readonly heard: readonly string[]
  readonly errors: readonly Error[]
  /** The phone of people who have `notify: ['phone']`. */
  readonly phone: Phone
  /** How many calls without a result bridges counted, by the id of the notice. */
  readonly doubts: ReadonlyMap<string, number>
  readonly wake: () => Job
  /** The newest bridge. */
  bridge(): Bridge
  /** Whether the agent loses what it gets from now on. */
  loses(isLosing: boolean): void
  /** Whether the fault has happened, and the state can be used again. */
  isOver(): boolean
  /** Whether the state can be used, and a bridge listens. */
  isUsable(): boolean
  /** The bot's messages in a chat. */
  said(chat: number): readonly string[]
  /** Lets time pass until it is so. Throws, with what is seen, if it is not so after two minutes. */
  passes(what: string, isSo: () => boolean, mostMs?: number): Promise<void>
  /** Ends the newest bridge gracefully, and starts the next one. */
  restart(change?: Partial<LifeOptions>): Promise<void>
  stop(): Promise<void>
  /** Suspends the newest bridge until another one has taken over. */
  takeOver(): Promise<void>
  /** Replaces the people, also for the bridges that follow. */
  setPeople(people: BridgeConfig['people']): void
  /** Problems that a bridge caused after another process took over. */
  readonly wrongs: readonly string[]
  close(): Promise<void>
}

/** A commit of the bridge. */
export interface Made {
  /** The place in the sources, as `<file>:<line>`. */
  readonly site: string
  readonly rows: ReadonlySet<string>
}

/** How bridges are set up. */
export interface LifeOptions {
  /** The name of the server. Default: home. */
  readonly server?: string
  readonly router?: object
  readonly routes?: object
  readonly people?: object
  readonly mirrors?: readonly (readonly string[])[]
  /** How voice notes become text. Default: not at all. */
  readonly transcribe?: object
  /** Whether reading that queue fails because of a defect in the bridge. */
  readonly hasDefect?: (queue: string) => boolean
  /** Changes the connection to the agent. */
  readonly changed?: (client: Client) => Client
  /** Called before each post that is not part of a reply. If it throws, the post fails. */
  readonly beforePost?: (note: Note) => void
}

export async function startWorld(options: {
  readonly act: (job: Job) => void
  readonly life?: LifeOptions
  readonly seed?: (memory: StoreMemory, now: number) => void
  readonly target?: string
  readonly fault?: Fault
  /** Whether bridges share the state, as in PostgreSQL. Otherwise one waits for the other. */
  readonly isShared?: boolean
}): Promise<World> {
  const clock = createHandClock()
  const memory = createStoreMemory()
  const { isShared = false } = options
  const plainStore = createMemoryStore({ memory, clock, mostMembers: isShared ? undefined : 1 })
  const store: Store = {
    ...plainStore,
    commit: async (...given) => {
      const lost = lostFields(memory, given[0])
      const unreadable = given[0].flatMap(faultsForReleased)
      const result = await plainStore.commit(...given)
      if (result.type !== 'done') return result
      given[0].forEach(countDoubt)
      wrongs.push(...lost.map((kind) => `The field of a newer version was lost in ${kind}.`))
      wrongs.push(...unreadable.map((fault) => `The released version can't read ${fault}`))
      return result
    },
  }
  const commits = new Map<string, Made>()
  const errors: Error[] = []
  const wrongs: string[] = []
  const phone = createPhone()
  const doubts = new Map<string, number>()
  const chats = [
    { id: 1, type: 'private', title: 'Ann' },
    { id: 2, type: 'private', title: 'Bob' },
    { id: 3, type: 'private', title: 'Eve' },
    { id: -5, type: 'group', title: 'Shop' },
    { id: -1005, type: 'supergroup', title: 'Shop' },
  ] as const
  const telegram = await startTelegram({ token: '42:secret', clock, chats })
  const agent = survivingAgent(options.act, clock)
  options.seed?.(memory, clock.now())
  let lifeOptions = options.life ?? {}
  let lives = 0
  let steps = 0
  /** Those that another one took over from. They wait to join again until the next restart, or go on with their stop. */
  const overtaken = new Set<Life>()
  /** The ids of members whose process did not die. */
  const living = new Set<string>()
  let newest = startLife()
  let hasHappened = false
  let failsUntil = Number.NEGATIVE_INFINITY
  try {
    await passes('the first bridge starts', () => newest.isStarted())
  } catch (error) {
    await close()
    throw error
  }
  return {
    ...{ telegram, clock, memory, commits, heard: agent.heard, errors, wake: agent.wake, wrongs, loses: agent.loses },
    ...{ phone, doubts },
    bridge: () => newest.bridge,
    isOver: () => hasHappened && isUsable(),
    isUsable,
    ...{ said, passes, restart, close },
    stop: async () => {
      await endOvertaken()
      await stopNewest()
    },
    takeOver: async () => await newest.suspend(),
    setPeople: (people) => {
      lifeOptions = { ...lifeOptions, people }
      for (const { bridge } of [newest, ...overtaken]) bridge.setPeople(people)
    },
  }

  /** Remembers how many calls a stored notice counts as without a result. */
  function countDoubt(write: Write): void {
    if (!('key' in write && 'value' in write && write.key.startsWith('notice/')) || !write.value) return
    const { id, doubtful } = JSON.parse(write.value)
    doubts.set(id, doubtful)
  }

  function isUsable(): boolean {
    return clock.now() >= failsUntil && newest.isStarted() && areAllOwned()
  }

  /** Whether each shard has an owner that lives. */
  function areAllOwned(): boolean {
    const owned = memory.members.leases.filter(
      ({ name, holder, expiresAt }) =>
        name.startsWith(shardLeasePrefix) && living.has(holder) && expiresAt > clock.now(),
    )
    return owned.length === allShards.length
  }

  function said(chat: number): readonly string[] {
    return telegram.screen(chat).flatMap(({ from, text }) => (from === 'bot' ? [text] : []))
  }

  async function passes(what: string, isSo: () => boolean, mostMs = 120_000): Promise<void> {
    const began = clock.now()
    while (!isSo()) {
      if (clock.now() - began >= mostMs) {
        const seen = chats.map(({ id }) => `${id}: ${JSON.stringify(said(id))}`).join('\n')
        const queues = JSON.stringify([...memory.queues].map(([name, entries]) => [name, ...entries]))
        throw new Error(
          `It never happened that ${what}.\n${seen}\nheard ${agent.heard}\n${queues}\n${errors.map((error) => error.stack).join('\n')}`,
        )
      }
      // Answers over the network take real time.
      if (++steps % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
      for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve))
      await clock.advance(100)
    }
  }

  /** Stops the bridges that wait beside the newest one. They would otherwise go on in place of the next one. */
  async function endOvertaken(): Promise<void> {
    for (const life of overtaken) {
      // If the state failed for both meanwhile, either may have it.
      const isOtherWaiting = (): boolean => newest.isStarted() && newest.bridge.status().state === 'standby'
      const isOver = (): boolean => life.isAtRest() || isOtherWaiting()
      await passes('a bridge waits or has stopped after another process took over', isOver)
      life.end()
    }
  }

  /** Resolves with whether it did not die meanwhile. */
  async function stopNewest(): Promise<boolean> {
    const stopping = newest
    let isStopped = false
    void stopping.bridge.stop().then(() => {
      isStopped = true
    })
    await passes('the bridge stops', () => isStopped || newest !== stopping)
    return newest === stopping
  }

  async function restart(change: Partial<LifeOptions> = {}): Promise<void> {
    await endOvertaken()
    lifeOptions = { ...lifeOptions, ...change }
    if (await stopNewest()) newest = startLife()
    await passes('the next bridge starts', () => newest.isStarted())
  }

  async function close(): Promise<void> {
    for (const { bridge } of [newest, ...overtaken]) void bridge.stop()
    await telegram.close()
  }

  /** Starts a bridge as a process of its own: when it dies, nothing that it does reaches anything. */
  function startLife(): Life {
    const root = `/life${++lives}`
    // Another one that works has rows in its memory.
    if (overtaken.size === 0) addFields(memory)
    let isDead = false
    let isStarted = false
    /** Its id among the members, once it has beaten. */
    let memberID = ''
    /** Resolves when its calls of the store get through. */
    let suspended: Promise<void> | undefined
    const never = new Promise<never>(() => {})
    const untilAlive = async (): Promise<void> => {
      if (isDead) await never
    }
    const own: Clock = {
      now: clock.now,
      // A dead process has no lease.
      monotonic: () => (isDead ? Number.MAX_SAFE_INTEGER : clock.monotonic()),
      after: (delayMs, run) => clock.after(delayMs, () => isDead || run()),
    }
    const platform = telegramOn(telegram)
    const ids = { ann: ['telegram:1'], bob: ['telegram:2'] }
    const bridge: Bridge = createBridge({
      config: parseConfig({
        servers: { [lifeOptions.server ?? 'home']: { url: 'http://127.0.0.1:1', trustPrompt: true } },
        channels: {
          telegram: { ...platform.entry, apiRoot: `${telegram.url}${root}` },
          phone: { type: 'phone', awayMs },
        },
        people: lifeOptions.people ?? {
          ann: { ids: ids.ann, may: ['prompt', 'approve', 'admin'] },
          bob: { ids: ids.bob, may: ['prompt'] },
        },
        router: { messagesPerMinute: 1000, ...lifeOptions.router },
        routes: lifeOptions.routes ?? {},
        mirrors: lifeOptions.mirrors ?? [],
        ...(lifeOptions.transcribe && { transcribe: lifeOptions.transcribe }),
      }),
      clock: own,
      store: ownStore(),
      connectTo: () => (lifeOptions.changed ?? ((client) => client))(agent.connectTo(untilAlive)),
      secret: () => '42:secret',
      load: async (type) => (type === 'phone' ? phone.channelOf(untilAlive) : withPostFaults(platform.channel)),
      onError: (error) => errors.push(error),
      observers: [
        (event) => {
          if (event.type !== 'member' || event.status !== 'left' || bridge.status().state.startsWith('stop')) return
          if (suspended === undefined && overtaken.size === 0)
            wrongs.push('A bridge ended although no other took over.')
        },
      ],
    })
    bridge.start().then(
      () => {
        isStarted = true
      },
      (error) => {
        errors.push(error)
        // The operator's service manager starts it again.
        if (newest === life) clock.after(1000, () => newest === life && startNext())
      },
    )
    /** Judges what it did since another one took over. */
    let judge = (): void => {}
    let isStopping = false
    const restsAs = (): string => (isStopping ? 'stopped' : isShared ? 'ready' : 'standby')
    const isAtRest = (): boolean => bridge.status().state === restsAs()
    const life: Life = { bridge, isStarted: () => isStarted, isAtRest, suspend, end }
    return life

    function startNext(): void {
      newest = startLife()
    }

    /** Returns a channel whose posts fail as `beforePost` says. */
    function withPostFaults(channel: BridgeChannel): BridgeChannel {
      const create: BridgeChannel['create'] = async (...given) => {
        const connection = await channel.create(...given)
        const post: typeof connection.post = async (note) => {
          lifeOptions.beforePost?.(note)
          return await connection.post(note)
        }
        return { ...connection, post }
      }
      return { ...channel, create }
    }

    /** Stops it after it was overtaken. */
    function end(): void {
      if (!overtaken.delete(life)) return
      judge()
      void bridge.stop()
    }

    /** Starts the next bridge, and holds this one's calls of the store until that has the state. */
    async function suspend(): Promise<void> {
      overtaken.add(life)
      isStopping = bridge.status().state === 'stopping'
      const next = startLife()
      newest = next
      suspended = (async () => {
        const began = clock.now()
        const hasTakenOver = (): boolean => next.isStarted() && (!isShared || clock.now() >= began + takeoverMs)
        while (!hasTakenOver()) await pause(clock, 100)
      })()
      await suspended
    }

    /** The store of this process, with the fault. */
    function ownStore(): Store {
      const guarded =
        <Given extends readonly unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
        async (...given: Given): Promise<Result> => {
          await untilAlive()
          await suspended
          // It may have died in between.
          if (isDead) await untilAlive()
          if (clock.now() < failsUntil) throw new StoreError('failed', 'The disk is full.')
          const result = await call(...given)
          await untilAlive()
          return result
        }
      const commit = guarded(store.commit)
      return {
        ...{ read: guarded(store.read), list: guarded(store.list) },
        queue: guarded(async (name) => {
          if (lifeOptions.hasDefect?.(keyWithoutShard(name))) throw new TypeError('The bridge has a defect.')
          return await store.queue(name)
        }),
        ...{ queues: guarded(store.queues), sweep: guarded(store.sweep) },
        beat: guarded(async (request) => {
          memberID = request.member
          living.add(memberID)
          return await store.beat(request)
        }),
        ...{ release: guarded(store.release), leave: guarded(store.leave), watch: store.watch },
        close: async () => {},
        commit: async (...given) => {
          const kind = kindOf(given[0])
          if (isDead || kind === undefined) return await commit(...given)
          if (!commits.has(kind.name)) commits.set(kind.name, kind)
          if (hasHappened || kind.name !== options.target || !options.fault) return await commit(...given)
          hasHappened = true
          return await commitWith(options.fault, given)
        },
      }

      async function commitWith(fault: Fault, given: Parameters<Store['commit']>): ReturnType<Store['commit']> {
        switch (fault.type) {
          case 'late': {
            const made = await store.commit(...given)
            await pause(own, 3000)
            return made
          }
          case 'fails':
            failsUntil = clock.now() + fault.forMs
            throw new StoreError(fault.error, 'The disk is full.')
          case 'dies':
            if (fault.isMade) await store.commit(...given)
            isDead = true
            living.delete(memberID)
            overtaken.delete(life)
            // Otherwise another one has taken over already.
            if (newest === life) startNext()
            return await never
          case 'fenced': {
            if (newest !== life) return await store.commit(...given)
            await suspend()
            const calls = (): readonly string[] =>
              telegram.calls.flatMap((call) => (call.root === root && !isRead(call.method) ? [call.method] : []))
            const before = calls().length
            const result = await store.commit(...given)
            if (given[1] !== undefined && result.type !== 'fenced') wrongs.push('A commit was made without the lease.')
            judge = () => {
              const made = calls().slice(before)
              // A bridge that shares the state takes its part of the chats again.
              if (made.length > 0 && !isShared) wrongs.push(`A bridge called ${made} after another process took over.`)
              if (!isAtRest()) wrongs.push(`A bridge was ${bridge.status().state} after another process took over.`)
            }
            if (!isShared) clock.after(15_000, end)
            return result
          }
        }
      }
    }
  }
}

/** Whether the call changes nothing: a bridge may check its bot while it waits. */
function isRead(method: string): boolean {
  return method === 'getUpdates' || method === 'getMe'
}

/** A bridge as a process of its own. */
interface Life {
  readonly bridge: Bridge
  isStarted(): boolean
  /** Whether it waits or works on after another one took over, or has stopped if it was stopping then. */
  isAtRest(): boolean
  suspend(): Promise<void>
  end(): void
}

/** Returns the kind of a commit that the bridge makes now: the file, and the kinds of its rows. Undefined for one without writes. */
function kindOf(writes: readonly Write[]): (Made & { readonly name: string }) | undefined {
  if (writes.length === 0) return undefined
  const before = Error.stackTraceLimit
  Error.stackTraceLimit = 30
  const { stack = '' } = new Error()
  Error.stackTraceLimit = before
  const frames = [...stack.matchAll(/packages\/bridge\/src\/([\w/.-]+\.ts):(\d+)/g)]
  const [, file = '', line = ''] = frames.find(([, path = '']) => path !== 'state/state.ts') ?? frames.at(-1) ?? []
  const rows = new Set(writes.map(rowOf))
  const main = [...rows].filter((row) => !/^(put|remove) (message|author|session|newest|home|kept)$/.test(row))
  return { name: `${file}:${line} ${(main.length > 0 ? main : [...rows]).join(', ')}`, site: `${file}:${line}`, rows }
}

/** Returns the kind of a write: its type, the beginning of its key, and the phase of what it stores. */
function rowOf(write: Write): string {
  const key = keyWithoutShard('queue' in write ? write.queue : write.key)
  const [prefix = key] = /^(failed\/[a-z]+|[^/]*)/.exec(key) ?? []
  const value = 'value' in write && write.value !== undefined ? write.value : ''
  return [write.type, prefix, detailOf(prefix, write.type, value)].filter((one) => one !== '').join(' ')
}

function detailOf(prefix: string, type: Write['type'], value: string): string {
  if (value === '') return type === 'compare-and-set' ? 'removed' : ''
  if (prefix === 'execution') {
    const { phase, isCanceled } = JSON.parse(value)
    return isCanceled && /planned|posting/.test(phase) ? `${phase} canceled` : phase
  }
  if (prefix === 'backlog' || prefix === 'inbox' || prefix === 'prompts') {
    const { left, isAnswer, tries } = JSON.parse(value)
    return [left, isAnswer && 'as an answer', tries > 0 && 'tried'].filter(Boolean).join(' ')
  }
  if (prefix === 'notice') {
    const { isBegun, doubtful } = JSON.parse(value)
    return [isBegun && 'begun', doubtful > 0 && 'in doubt'].filter(Boolean).join(' ')
  }
  if (prefix === 'allowed') return JSON.parse(value).isConfirmed ? 'confirmed' : 'pending'
  if (prefix === 'ledger')
    return [...new Set([...value.matchAll(/"state":"(\w+)"/g)].map(([, state]) => state))].sort().join(' ')
  if (prefix === 'failed/delivery') return JSON.parse(value).isReported ? 'reported' : ''
  return ''
}
