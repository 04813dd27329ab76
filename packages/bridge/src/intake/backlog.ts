import type { MessageRef } from '@reply/sink'
import { oneLine } from '@reply/sink/channel'
import { inRows } from '../commands/buttons.ts'
import { plain } from '../markdown.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import { toQueuedPrompt } from '../registry/decode.ts'
import type { BridgeContext } from '../runs/context.ts'
import type { Runner } from '../runs/runner.ts'
import type { Write } from '../store/store.ts'
import type { QueuedPrompt } from './queued-prompt.ts'

/** Messages that were sent long before they were heard, while the bridge was down. */
export interface Backlog {
  /** Whether a message counts as backlog. Without the platform's time it does not. */
  isOld(message: MessageRef, heardAt?: number): boolean
  /** Keeps a prompt until the others of its place are there, too, and the policy decides. */
  keep(entry: QueuedPrompt, taken: readonly Write[]): Promise<void>
  /** Runs an entry that a person chose, if it is that person's. `false`: it is no longer there, or another's. */
  run(place: ChatPlace, id: string, isOwn: (entry: QueuedPrompt) => boolean): Promise<boolean>
  /** Forgets the entries of a place that are the person's. */
  drop(place: ChatPlace, isOwn: (entry: QueuedPrompt) => boolean): Promise<void>
  /** Decides what an earlier process kept, and lists what it could not list any more. */
  restore(): Promise<void>
  /** Forgets what was left for too long. */
  expire(): Promise<void>
  stop(): void
}

/** How long after a message the next one still belongs to the same backlog, in ms. */
const gatherMs = 1500
/** The most buttons and lines of one list. */
const mostListed = 10
/** How long what was left can still be chosen, in ms: 30 days. */
const keptMs = 2_592_000_000

export function createBacklog(context: BridgeContext, runner: Runner): Backlog {
  const { state, channels, router, words, clock, onError } = context
  const timers = new Map<string, () => void>()
  const queueOf = (place: ChatPlace): string => `backlog/${placeKey(place)}`
  return { isOld, keep, run, drop, restore, expire, stop }

  function isOld({ postedAt }: MessageRef, heardAt = clock.now()): boolean {
    return postedAt !== undefined && heardAt - postedAt > router.backlogAfterMs
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
        timers.delete(key)
        void decide(place).catch(onError)
      }),
    )
  }

  async function decide(place: ChatPlace): Promise<void> {
    const fresh = (await kept(place)).filter(({ left }) => left === undefined)
    const count = { latest: 1, all: fresh.length, none: 0 }[router.backlog]
    const [left, chosen] = [fresh.slice(0, fresh.length - count), fresh.slice(fresh.length - count)]
    await state.commit([...chosen.flatMap((entry) => moved(entry)), ...left.map((entry) => marked(entry, 'decided'))])
    runner.kick(place)
    const unlisted = (await kept(place)).filter((entry) => entry.left === 'decided')
    if (unlisted.length === 0) return
    const isShown = await list(place, unlisted, chosen.length > 0)
    // Each on its own: a person may have chosen one already.
    if (isShown) for (const entry of unlisted) await state.commit([marked(entry, 'listed')])
  }

  function marked(entry: QueuedPrompt, left: QueuedPrompt['left']): Write {
    return { type: 'replace', queue: queueOf(entry), id: entry.id, value: JSON.stringify({ ...entry, left }) }
  }

  function moved(entry: QueuedPrompt): readonly Write[] {
    const chosen = { ...entry, left: undefined }
    return [{ type: 'dequeue', queue: queueOf(entry), id: entry.id }, runner.enqueue(chosen)]
  }

  async function list(place: ChatPlace, left: readonly QueuedPrompt[], isAfter: boolean): Promise<boolean> {
    const shown = left.slice(-mostListed)
    const lines = shown.map(({ text, files }, index) => {
      return `${index + 1}. ${plain(oneLine(text || files.map(({ name }) => name).join(', '), 100))}`
    })
    const title = isAfter ? words.backlogAfter(left.length) : words.backlog(left.length)
    const buttons = [
      ...inRows(shown.map(({ id }, index) => ({ label: words.backlogRun(index + 1), data: `b/run/${id}` }))),
      [{ label: words.backlogDrop, data: 'b/drop' }],
    ]
    return (await channels.say(place, { text: [title, '', ...lines].join('\n'), buttons })).length > 0
  }

  async function run(...[place, id, isOwn]: Parameters<Backlog['run']>): Promise<boolean> {
    const entry = (await kept(place)).find((one) => one.id === id)
    if (!entry || !isOwn(entry)) return false
    const isMoved = await state.commit(moved(entry))
    runner.kick(place)
    return isMoved
  }

  async function drop(...[place, isOwn]: Parameters<Backlog['drop']>): Promise<void> {
    const queue = queueOf(place)
    const entries = (await kept(place)).filter(isOwn)
    await state.commit(entries.map(({ id }) => ({ type: 'dequeue', queue, id })))
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
        const { left, heardAt } = toQueuedPrompt(value)
        if (left !== undefined && clock.now() - heardAt > keptMs) await state.commit([{ type: 'dequeue', queue, id }])
      }
    }
  }

  function stop(): void {
    for (const stopTimer of timers.values()) stopTimer()
    timers.clear()
  }
}
