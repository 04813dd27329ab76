import { systemClock } from '@reply/core'
import type { Demand } from '@reply/core/testing'
import type { SharedBudget } from '../../deliver/shared-budget.ts'
import type { BridgeConnection } from '../../inbound/bridge-channel.ts'
import type { Chat, MessageRef } from '../../port/port.ts'
import { startReply } from './acting.ts'
import { type BridgeStage, createHost, type SharedAccount } from './bridge-stage.ts'
import { replyOf } from './script.ts'
import { must, until } from './stage.ts'

/** What each channel must do with the rate limits of an account that several processes use. */
export const dividing = [
  {
    name: 'keeps to the shares of an account that two connections use',
    needs: ({ shareAccount }) => shareAccount !== undefined,
    run: async (stage) => {
      await holdShares(stage, [0.7, 0.3])
    },
  },
  {
    name: 'keeps to the shares of an account that four connections use',
    needs: ({ shareAccount }) => shareAccount !== undefined,
    run: async (stage) => {
      await holdShares(stage, [0.4, 0.3, 0.2, 0.1])
    },
  },
  {
    name: 'moves a share from one connection to another without a refused call',
    needs: ({ shareAccount }) => shareAccount !== undefined,
    run: async (stage) => {
      await underLoad(stage, 2, async ({ shared, connections: [one, two], budget, pass }) => {
        must(one !== undefined && two !== undefined, 'There are no two connections.')
        for (const [from, to] of [
          [two, one],
          [one, two],
          [two, one],
          [one, two],
        ] as const) {
          setShares(from, 0)
          setShares(to, 1)
          await pass(budget.windowMs * 1.5)
        }
        mustKeepTo(shared, budget)
        const fewest = Math.min(one.calls(), two.calls())
        must(fewest >= budget.total / 2, `A connection made ${fewest} calls with the whole budget.`)
      })
    },
  },
  {
    name: 'makes no call during a pause of the account that another connection was told',
    needs: ({ shareAccount }) => shareAccount !== undefined,
    run: async (stage) => {
      await underLoad(stage, 3, async ({ shared, connections, budget, pass }) => {
        const { clock = systemClock } = shared
        for (const connection of connections) {
          setShares(connection, 1 / connections.length)
          // Apart, so that not all connections call in the moment of the refusal.
          await pass(budget.windowMs / connections.length)
        }
        /** When each pause began and ends, in ms since the epoch. */
        const pauses: { readonly from: number; readonly to: number }[] = []
        for (const told of connections)
          budgetOf(told, shared).onFrozen((forMs) => {
            pauses.push({ from: clock.now(), to: clock.now() + forMs })
            for (const other of connections) if (other !== told) budgetOf(other, shared).freeze(forMs)
          })
        await pass(budget.windowMs)
        const before = shared.refused()
        shared.refuseNext()
        await until(shared, { isDone: () => pauses.length > 0, withinMs: 60_000, message: 'No pause was reported.' })
        const [pause] = pauses
        must(pause !== undefined, 'No pause was reported.')
        await pass(pause.to - clock.now() + budget.windowMs)
        const during = shared.arrivals().filter((at) => at > pause.from + inTransitMs && at < pause.to).length
        must(during === 0, `${during} calls arrived during the pause.`)
        must(shared.refused() > before, 'The stage refused no call.')
        must(
          shared.arrivals().some((at) => at >= pause.to),
          'No call was made after the pause.',
        )
      })
    },
  },
] as const satisfies readonly Demand<BridgeStage>[]

/** How long a call that was on its way when the pause began may take to arrive, in ms. */
const inTransitMs = 250

/** A connection that writes in its chats as fast as it may. */
interface Busy {
  readonly connection: BridgeConnection
  /** How many calls have succeeded. */
  calls(): number
}

/** Connections of one account that are all under full load. */
interface Load {
  readonly shared: SharedAccount
  readonly connections: readonly Busy[]
  /** The limit that the load uses up. */
  readonly budget: Pick<SharedBudget, 'total' | 'windowMs'>
  /** Lets time pass. In ms. */
  pass(ms: number): Promise<void>
}

/** Gives each connection its part of all budgets, and checks for three full windows that they use them and not more. */
async function holdShares(stage: BridgeStage, parts: readonly number[]): Promise<void> {
  await underLoad(stage, parts.length, async ({ shared, connections, budget, pass }) => {
    for (const [index, connection] of connections.entries()) setShares(connection, parts[index] ?? 0)
    await pass(4.5 * budget.windowMs)
    mustKeepTo(shared, budget)
    const made = shared.arrivals().length
    must(made >= 2.5 * budget.total, `All made only ${made} calls in three windows of ${budget.total} calls.`)
    for (const [index, connection] of connections.entries())
      must(connection.calls() > 0, `Connection ${index} made no call.`)
  })
}

/**
 * Runs `act` with connections that have no share at first, while notes, edits, replies and typing wait in all their chats.
 * Then cancels what waits.
 */
async function underLoad(stage: BridgeStage, count: number, act: (load: Load) => Promise<void>): Promise<void> {
  const shared = await stage.shareAccount?.()
  must(shared !== undefined, 'The stage has no shared account.')
  const { clock = systemClock } = shared
  const stopped = new AbortController()
  const work: Promise<void>[] = []
  const connections: Busy[] = []
  for (let index = 0; index < count; index++) {
    const connection = await shared.connect({ ...createHost(stage, ignore, ignore), clock })
    let calls = 0
    const busy = { connection, calls: () => calls }
    setShares(busy, 0)
    const countCall = (): void => {
      calls += 1
    }
    const ownChats = shared.chats.filter((_, chat) => chat % count === index)
    for (const [chat, place] of ownChats.entries())
      work.push(writeIn(connection, place, chat % 4 === 0, countCall, stopped.signal))
    connections.push(busy)
  }
  const [first] = connections
  must(first !== undefined, 'There is no connection.')
  const { total, windowMs } = budgetOf(first, shared)
  const pass = async (ms: number): Promise<void> => {
    const end = clock.now() + ms
    await until(shared, { isDone: () => clock.now() >= end, withinMs: ms + 60_000, message: 'Time does not pass.' })
  }
  try {
    await act({ shared, connections, budget: { total, windowMs }, pass })
  } finally {
    stopped.abort()
    await Promise.allSettled(work)
    await shared.close()
  }
}

/** Writes in a chat until the signal aborts: replies, or a note that is edited where the platform can. */
async function writeIn(
  connection: BridgeConnection,
  chat: Chat,
  withReplies: boolean,
  countCall: () => void,
  signal: AbortSignal,
): Promise<void> {
  let newest: MessageRef | undefined
  for (let round = 1; !signal.aborted; round++) {
    if (withReplies) await showReply(connection, chat, `ses_${chat.id}_${round}`, signal)
    else newest = await writeNote(connection, newest, { chat, text: `Text ${round}.`, signal, until: endOfTime })
    countCall()
    if (!signal.aborted) await connection.typing(chat)
  }
}

/** A time after the end of any test, in ms since the epoch. */
const endOfTime = Number.MAX_SAFE_INTEGER

/** Edits the message, or posts a new one if there is none or it can't be edited. */
async function writeNote(
  connection: BridgeConnection,
  newest: MessageRef | undefined,
  note: Parameters<BridgeConnection['post']>[0],
): Promise<MessageRef | undefined> {
  if (newest) {
    const isEdited = await connection.edit(newest, note).then(
      () => true,
      () => false,
    )
    if (isEdited || note.signal?.aborted) return newest
  }
  const [ref] = await connection.post(note)
  return ref
}

/** Shows a settled reply, and stops its sink when it is shown or the signal aborts. */
async function showReply(
  connection: BridgeConnection,
  chat: Chat,
  sessionID: string,
  signal: AbortSignal,
): Promise<void> {
  const sink = connection.sinkFor({ chat }, { policy: { statusAfterMs: 3_600_000 } })
  const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  startReply(sink, replyOf('An answer.', { sessionID, isSettled: true }))
  await Promise.race([sink.settled(), aborted])
  await sink.stop()
}

/** Sets the share of each budget to a part of it. Rounds down, because the parts of all may not be more than the whole. */
function setShares({ connection: { budgets } }: Pick<Busy, 'connection'>, part: number): void {
  for (const budget of Object.values(budgets)) budget.setShare(Math.floor(budget.total * part))
}

/** Returns the budget that the stage's load uses up. */
function budgetOf({ connection: { budgets } }: Busy, { budget: name }: SharedAccount): SharedBudget {
  const budget = budgets[name]
  must(budget !== undefined, `The connection has no budget "${name}": ${Object.keys(budgets).join()}.`)
  return budget
}

/** Throws if the platform refused a call, or got more calls than the budget within a window. */
function mustKeepTo(shared: SharedAccount, { total, windowMs }: Load['budget']): void {
  must(shared.refused() === 0, `The platform refused ${shared.refused()} calls.`)
  const times = shared.arrivals()
  const most = Math.max(...times.map((at) => times.filter((one) => one > at - windowMs && one <= at).length))
  must(most <= total, `${most} calls arrived within ${windowMs} ms, and ${total} are allowed.`)
}

function ignore(): void {}
