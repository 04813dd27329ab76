import type { MessageRef } from '@reply/sink'
import { backOffMs, oneLine } from '@reply/sink/internal'
import type { ChatMessage } from '../chats/channels.ts'
import { inRows, isRefusal, refusedMs } from '../chats/channels.ts'
import { BridgeError, isTakenOver } from '../error.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import { toQueuedPrompt } from '../state/decode.ts'
import type { QueuedPrompt } from '../state/queued-prompt.ts'
import type { Write } from '../store/store.ts'
import { plain, texts } from '../texts.ts'
import type { BridgeContext } from './context.ts'
import type { Runner } from './runner.ts'

/** Messages that were sent long before they were heard, while the bridge was down. */
export interface Backlog {
  /** Whether a message that is heard now counts as backlog. Without the platform's time it does not. */
  isOld(message: MessageRef): boolean
  /** Whether older messages of a place still wait for the policy: later ones must not overtake them. */
  isGathering(place: ChatPlace): boolean
  /** Keeps a prompt until the others of its place are there, too, and the policy decides. */
  keep(entry: QueuedPrompt, taken: readonly Write[]): Promise<void>
  /** Runs an entry that a person chose, if it is that person's. `false`: it is no longer there, or another's. */
  run(place: ChatPlace, id: string, isOwn: (entry: QueuedPrompt) => boolean): Promise<boolean>
  /** Forgets the entries of a place that are the person's. Resolves with what others left there. */
  drop(place: ChatPlace, isOwn: (entry: QueuedPrompt) => boolean): Promise<Left>
  /** Decides what an earlier process kept, and lists what it could not list any more. */
  restore(): Promise<void>
  /** Forgets what was left for too long. */
  expire(): Promise<void>
  stop(): void
}

/** What is left of a place's backlog after a person dropped their part. */
export interface Left {
  /** How many entries were dropped. */
  readonly dropped: number
  /** The list of the others' entries; undefined if there are none. */
  readonly list: ChatMessage | undefined
}

/** How long after a message the next one still belongs to the same backlog, in ms. */
const gatherMs = 1500
/** The most buttons and lines of one list. */
const mostListed = 10
/** How long what was left can still be chosen, in ms: 30 days. */
const keptMs = 2_592_000_000

export function createBacklog(context: BridgeContext, runner: Runner): Backlog {
  const { state, channels, clock, onError } = context
  const { router } = context.config
  /** By place, from the first message until the policy has decided. */
  const timers = new Map<string, () => void>()
  /** By place: what waits until its chat may take the list. */
  const listing = new Map<string, () => void>()
  let isStopped = false
  const queueOf = (place: ChatPlace): string => `backlog/${placeKey(place)}`
  return { isOld, isGathering: (place) => timers.has(placeKey(place)), keep, run, drop, restore, expire, stop }

  function isOld({ postedAt }: MessageRef): boolean {
    return postedAt !== undefined && clock.wall() - postedAt > router.backlogAfterMs
  }

  async function keep(entry: QueuedPrompt, taken: readonly Write[]): Promise<void> {
    const value = JSON.stringify(entry)
    await state.commit([...taken, { type: 'enqueue', queue: queueOf(entry), id: entry.id, value }])
    gather(entry)
  }

  function gather(place: ChatPlace): void {
    const key = placeKey(place)
    timers.get(key)?.()
    timers.set(
      key,
      clock.after(gatherMs, () => {
        void state
          .persist(() => decide(place, () => timers.delete(key)))
          .catch((error) => {
            timers.delete(key)
            onError(error)
          })
      }),
    )
  }

  /** What was sent since the start runs in any case, after what the policy chooses. */
  async function decide(place: ChatPlace, onDecided: () => void): Promise<void> {
    const undecided = (await kept(place)).filter(({ left }) => left === undefined)
    const old = undecided.filter((entry) => entry.isOld)
    const recent = undecided.filter((entry) => !old.includes(entry))
    const count = { latest: recent.length > 0 ? 0 : 1, all: old.length, none: 0 }[router.backlog]
    const left = old.slice(0, Math.max(0, old.length - count))
    const chosen = [...old.slice(left.length), ...recent]
    const writes = [...chosen.flatMap((entry) => moved(entry)), ...left.map((entry) => marked(entry, 'decided'))]
    if (!(await state.commit(writes)))
      throw new BridgeError('state', `The backlog of ${placeKey(place)} is unreadable.`)
    // What came meanwhile has its own turn.
    if ((await kept(place)).some((entry) => entry.left === undefined)) return await decide(place, onDecided)
    onDecided()
    runner.kick(place)
    await list(place, chosen.length > 0)
  }

  /** Lists what was left. A chat that does not take the list gets it again: its people know of it by no other way. */
  async function list(place: ChatPlace, isAfter: boolean, failures = 0): Promise<void> {
    const key = placeKey(place)
    listing.get(key)?.()
    listing.delete(key)
    const unlisted = (await kept(place)).filter(({ left }) => left === 'decided')
    if (unlisted.length === 0 || isStopped) return
    try {
      await channels.post(place, listOf(unlisted, isAfter))
    } catch (error) {
      if (isStopped || isTakenOver(error)) return
      if (failures === 0) onError(error instanceof Error ? error : new Error(String(error)))
      const again = (): void =>
        void state.persist(() => list(place, isAfter, failures + 1)).catch((cause) => isStopped || onError(cause))
      listing.set(key, clock.after(isRefusal(error) ? refusedMs : backOffMs(failures), again))
      return
    }
    // Each on its own: a person may have chosen one already.
    for (const entry of unlisted) await state.commit([marked(entry, 'listed')])
  }

  function marked(entry: QueuedPrompt, left: QueuedPrompt['left']): Write {
    return { type: 'replace', queue: queueOf(entry), id: entry.id, value: JSON.stringify({ ...entry, left }) }
  }

  function moved(entry: QueuedPrompt): readonly Write[] {
    const chosen = { ...entry, left: undefined }
    return [{ type: 'dequeue', queue: queueOf(entry), id: entry.id }, runner.enqueue(chosen)]
  }

  function listOf(left: readonly QueuedPrompt[], isAfter: boolean): ChatMessage {
    const shown = left.slice(-mostListed)
    const lines = shown.map(({ text, files }, index) => {
      return `${index + 1}. ${plain(oneLine(text || files.map(({ name }) => name).join(', '), 100))}`
    })
    const title = isAfter ? texts.backlogAfter(left.length) : texts.backlog(left.length)
    const buttons = [
      ...inRows(shown.map(({ id }, index) => ({ label: texts.backlogRun(index + 1), data: `b/run/${id}` }))),
      [{ label: texts.backlogDrop, data: 'b/drop' }],
    ]
    return { text: [title, '', ...lines].join('\n'), buttons }
  }

  async function run(...[place, id, isOwn]: Parameters<Backlog['run']>): Promise<boolean> {
    const entry = (await kept(place)).find((one) => one.id === id)
    if (!entry || !isOwn(entry)) return false
    const isMoved = await state.commit(moved(entry))
    runner.kick(place)
    return isMoved
  }

  async function drop(...[place, isOwn]: Parameters<Backlog['drop']>): Promise<Left> {
    const queue = queueOf(place)
    const entries = (await kept(place)).filter(({ left }) => left !== undefined)
    const own = entries.filter(isOwn)
    // Each on its own: one may have been chosen meanwhile.
    for (const { id } of own) await state.persist(() => state.commit([{ type: 'dequeue', queue, id }]))
    const others = entries.filter((entry) => !isOwn(entry))
    return { dropped: own.length, list: others.length > 0 ? listOf(others, false) : undefined }
  }

  async function kept(place: ChatPlace): Promise<readonly QueuedPrompt[]> {
    return (await state.queue(queueOf(place))).map(({ value }) => toQueuedPrompt(value))
  }

  async function restore(): Promise<void> {
    for (const name of await state.queues('backlog/')) {
      const [first] = await state.queue(name)
      if (first) gather(toQueuedPrompt(first.value))
    }
  }

  async function expire(): Promise<void> {
    for (const queue of await state.queues('backlog/')) {
      for (const { id, value } of await state.queue(queue)) {
        const { left, receivedAt } = toQueuedPrompt(value)
        if (left !== undefined && clock.now() - receivedAt > keptMs)
          await state.commit([{ type: 'dequeue', queue, id }])
      }
    }
  }

  function stop(): void {
    isStopped = true
    for (const stopTimer of [...timers.values(), ...listing.values()]) stopTimer()
    timers.clear()
    listing.clear()
  }
}
