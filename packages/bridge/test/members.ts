import type { AnswerInbound, Inbound } from '@reply/sink'
import type { Form } from '@reply/sink/channel'
import { createHandClock, type HandClock } from '@reply/testing'
import { createSeenMessages } from '../src/chats/seen-messages.ts'
import { createMirrors } from '../src/config/mirrors.ts'
import type { InboundEvent } from '../src/events/event.ts'
import { createTries, createTurns } from '../src/failed/tries.ts'
import { createIntake, type Intake } from '../src/intake/intake.ts'
import { createReceiver, type Receiver } from '../src/intake/receiver.ts'
import { createMembership, type HeldLease } from '../src/members/membership.ts'
import { createPeople } from '../src/people/people.ts'
import { createRateLimit } from '../src/people/rate-limit.ts'
import type { BridgeServices } from '../src/runs/services.ts'
import type { QueuedPrompt } from '../src/state/queued-prompt.ts'
import { createShardRows, createSharedState, createState, createStoreReports } from '../src/state/state.ts'
import { isTried } from '../src/state/tried.ts'
import type { Store } from '../src/store/store.ts'
import { createMemoryStore, createStoreMemory, type StoreMemory } from '../src/testing.ts'

export type Text = Extract<Inbound, { type: 'text' }>
export type Press = Extract<Inbound, { type: 'press' }>

/** Members of one state. Each receives, and one of them may own all chats, which are one shard. */
export interface Members {
  readonly clock: HandClock
  readonly memory: StoreMemory
  /** What the owners did with messages and presses, in order: `<member> <text>`. */
  readonly done: string[]
  /** What people were told, with the member that told it if it posted that in the chat. */
  readonly told: string[]
  readonly errors: Error[]
  readonly verdicts: string[]
  /** Adds a member. It owns the chats if `isOwner`, once no other one does. */
  join(name: string, options?: MemberOptions): Promise<Member>
  /** Lets what was begun go on, without letting time pass. */
  settle(): Promise<void>
  /** Lets time pass in small steps. */
  pass(ms: number): Promise<void>
  /** A message of Ann, who may do all, in a private chat. */
  text(id: string, text: string, change?: Partial<Text>): Text
  /** A press by Ann. */
  press(token: string, change?: Partial<Press>): Press
}

export interface MemberOptions {
  readonly isOwner?: boolean
  readonly storeOf?: (store: Store) => Store
  readonly messagesPerMinute?: number
  /** Platforms deliver nothing again. */
  readonly deliversOnce?: true
  /** What the owner does with a message or press, before it is done. */
  readonly act?: (text: string, answer: AnswerInbound, press?: Press) => Promise<void>
  /** How long the owner needs to restore the runs of the chat, and to look for a button, in ms. */
  readonly restoreMs?: number
  readonly lookMs?: number
  /** Whether calls are allowed. */
  readonly isHeld?: () => boolean
  /** Its config lacks the channel. */
  readonly lacksChannel?: true
}

export interface Member extends Pick<Receiver, 'receive'> {
  readonly store: Store
  readonly intake: Intake
  /** Ends the process without a word: its timers and calls go nowhere from then on. */
  kill(): void
  /** Ends its intake gracefully, and releases its lease. It still receives. */
  stop(options?: { readonly isStillOwner?: boolean }): Promise<void>
  /** Releases its lease. */
  release(): Promise<void>
}

const everyone = { ann: { ids: ['tg:1'], may: ['prompt', 'approve', 'admin'] } } as const

export function createMembers(): Members {
  const clock = createHandClock()
  const memory = createStoreMemory()
  const done: string[] = []
  const told: string[] = []
  const errors: Error[] = []
  const verdicts: string[] = []
  const onError = (error: Error): void => void errors.push(error)
  return { clock, memory, done, told, errors, verdicts, join, settle, pass, text, press }

  async function settle(): Promise<void> {
    for (let turn = 0; turn < 60; turn++) await new Promise((resolve) => setImmediate(resolve))
  }

  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) {
      await settle()
      await clock.advance(Math.min(50, ms - passed))
    }
    await settle()
  }

  function text(id: string, words: string, change: Partial<Text> = {}): Text {
    return {
      ...{ type: 'text', chat: { id: '1', kind: 'private' }, actor: { id: '1', name: 'Ann' }, text: words },
      ...{ messageRef: { id }, isCommand: words.startsWith('/') },
      answer: async (given) => void told.push(`${given}`),
      ...change,
    }
  }

  function press(token: string, change: Partial<Press> = {}): Press {
    return {
      ...{ type: 'press', chat: { id: '1' }, actor: { id: '1', name: 'Ann' }, token, isForeign: true },
      messageRef: { id: '77' },
      answer: async (given) => void told.push(given ?? 'ok'),
      open: async (form: Form) => void told.push(`form ${form.label}`),
      ...change,
    }
  }

  async function join(name: string, options: MemberOptions = {}): Promise<Member> {
    const { isOwner = false, storeOf = (one) => one, act = async () => {}, deliversOnce } = options
    let isDead = false
    const never = new Promise<never>(() => {})
    /** Nothing that a dead process does reaches the store. */
    const alive =
      <Given extends readonly unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
      async (...given: Given): Promise<Result> => {
        if (isDead) return await never
        const result = await call(...given)
        return isDead ? await never : result
      }
    const real = createMemoryStore({ memory, clock })
    const store = storeOf({
      ...real,
      ...{ read: alive(real.read), list: alive(real.list), queue: alive(real.queue), queues: alive(real.queues) },
      ...{ commit: alive(real.commit), beat: alive(real.beat), leave: alive(real.leave) },
    })
    const own = {
      ...{ now: clock.now, monotonic: clock.monotonic, wall: clock.now },
      after: (delayMs: number, run: () => void) => clock.after(delayMs, () => isDead || run()),
    }
    const after = async (ms = 0): Promise<void> =>
      await (ms === 0 ? undefined : new Promise<void>((resolve) => clock.after(ms, resolve)))
    const restored = after(options.restoreMs)
    const stopping = new AbortController()
    let granted: HeldLease | undefined
    const membership = createMembership({
      ...{ store, member: name, clock: own, onStalled: onError },
      request: () => ({ layout: '', wants: { shard: ['shard/07'] }, budgets: {} }),
      onGranted: (one) => {
        granted = one
      },
      ...{ onWaiting: () => {}, onBack: () => {}, onLost: () => {}, onExcess: () => {} },
      ...{ onJoined: () => {}, onLeft: () => {} },
    })
    if (isOwner) await membership.join()
    // The lease of a member that died is free once it has expired.
    for (let waited = 0; isOwner && !granted && waited < 100; waited++) {
      await clock.advance(100)
      await membership.beat()
    }
    const lease = granted ?? { current: () => undefined, renew: async () => false }
    const { isHeld = () => true } = options
    let isOwning = isOwner
    const free = {
      isHeld,
      whenHeld: async () => {
        if (isHeld()) return new AbortController().signal
        throw new Error('It may not receive.')
      },
    }
    const holder = () => (isOwning && granted ? granted : free)
    const held = {
      isHeld: () => holder().isHeld(),
      whenHeld: async () => await holder().whenHeld(),
    }
    const shared = { store, clock: own, stopping: stopping.signal, reports: createStoreReports(onError) }
    const state = createState({ ...shared, shard: '07', lease })
    const rows = createSharedState(shared)
    const people = createPeople(everyone as unknown as Parameters<typeof createPeople>[0])
    const router = { maxTextLength: 100, messagesPerMinute: options.messagesPerMinute ?? 100, busy: 'queue' }
    const failed = {
      ...{ onPlaceActive: () => {}, pendingFor: () => ({ type: 'delivery' }), write: () => [] },
      ...{ replyPending: async () => {}, emitCounts: async () => {} },
    }
    const channels = {
      ...{ connectionOf: () => ({ deliversOnce }), sinkFields: () => ({}), has: () => !options.lacksChannel },
      showTyping: () => void told.push(`${name} types`),
      tryPost: async (_: unknown, note: { readonly text: string }) => await channels.postNote(note),
      postNote: async (note: { readonly text: string }) => void told.push(`${name} posts ${note.text}`),
    }
    const commands = {
      ...{ isOwnCommand: (one: string) => one.startsWith('/'), isStopCommand: (one: string) => one === '/stop' },
      runCommand: async (entry: QueuedPrompt, _: unknown, removal: readonly never[]) => {
        await act(entry.text, async () => {})
        done.push(`${name} ${entry.text}${isTried(entry) ? ' again' : ''}`)
        await state.withRetries(() => state.commit(removal))
      },
      handlePress: async (_: unknown, __: unknown, one: Press, requireDue: () => void) => {
        await after(options.lookMs)
        requireDue()
        await act(one.token, one.answer, one)
        done.push(`${name} pressed ${one.token}`)
        await one.answer(`Done: ${one.token}`)
      },
      handleStop: async (_: unknown, __: unknown, ___: unknown, requireDue: () => void) => {
        await after(options.lookMs)
        requireDue()
        done.push(`${name} stopped`)
      },
    }
    const runner = {
      ...{
        whenRestored: async () => await restored,
        changeQueue: async (_: unknown, task: () => Promise<unknown>) => await task(),
      },
      ...{ queuedPrompts: async () => [], queueIDOf: ({ id }: QueuedPrompt) => id, startQueue: () => {} },
      enqueue: (entry: QueuedPrompt) => {
        done.push(`${name} ${entry.text}${isTried(entry) ? ' again' : ''}`)
        return { type: 'enqueue', queue: 'prompts/', id: entry.id, value: JSON.stringify(entry) }
      },
    }
    const emit = (event: { readonly type: string }): void => {
      if (event.type !== 'inbound') return
      const { verdict, why } = event as InboundEvent
      verdicts.push(`${name} ${verdict}${why === undefined ? '' : ` ${why}`}`)
    }
    const tries = createTries({ state, failed: failed as never, turns: createTurns(own), clock: own, onError })
    const services = {
      ...{
        config: { servers: {}, router },
        state,
        lease: held,
        channels,
        people,
        failed,
        tries,
        clock: own,
        emit,
        onError,
      },
      ...{ runs: { active: () => [], followed: () => [] }, servers: new Map(), answeredBy: {}, registry: {} },
    } as unknown as BridgeServices
    const rate = createRateLimit(router.messagesPerMinute, own)
    const backlog = { isGathering: () => false }
    const intake = createIntake({
      ...{ services, rate, withFirstID: (place) => place, grants: {} as never },
      ...{ runner: runner as never, commands: commands as never, backlog: backlog as never },
    })
    const mirrors = createMirrors([])
    const receiver = createReceiver({
      ...{ member: name, router: router as never, state: rows, shardOf: () => '07', lease: held },
      stateOf: (shard) => createShardRows(rows, shard),
      ...{ onWoken: () => {}, onLate: () => {} },
      ...{ intakes: new Map(isOwner ? [['07', intake]] : []), people, mirrors },
      facts: { look: () => {}, lookAtAll: () => {} },
      moves: { loadMoves: async () => {}, learnMove: async () => {} },
      activity: { note: () => {} },
      connections: new Map([['tg', { deliversOnce, post: channels.postNote } as never]]),
      ...{ seen: createSeenMessages({ state, mirrors, clock: own }) },
      ...{ clock: own, emit, onError },
    })
    const unwatch = store.watch((hint) => isDead || receiver.onHint(hint))
    if (isOwner) await intake.restore()
    receiver.start()
    const release = async (): Promise<void> => {
      isOwning = false
      await membership.leave()
    }
    const end = (): void => {
      unwatch()
      receiver.stop()
    }
    return {
      ...{ store, intake, receive: receiver.receive },
      kill: () => {
        isDead = true
        end()
      },
      stop: async ({ isStillOwner } = {}) => {
        await tries.giveBack(intake.undoTries)
        if (!isStillOwner) await release()
      },
      release,
    }
  }
}
