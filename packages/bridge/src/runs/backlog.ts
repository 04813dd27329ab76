import type { MessageRef } from '@reply/sink'
import { backOffMs, oneLine } from '@reply/sink/internal'
import type { ChatMessage } from '../chats/channels.ts'
import { inRows, isRefusal, refusedMs } from '../chats/channels.ts'
import { BridgeError, isTakenOver, toError } from '../error.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import { toQueuedPrompt } from '../state/decode.ts'
import type { QueuedPrompt } from '../state/queued-prompt.ts'
import { isTried, withoutLastTry } from '../state/tried.ts'
import type { Write } from '../store/store.ts'
import { plain, texts } from '../texts.ts'
import type { Runner } from './runner.ts'
import type { BridgeServices } from './services.ts'

/** Messages that were sent while the bridge was down. */
export interface Backlog {
  /** Whether older messages of a place are still being gathered. Newer ones must not overtake them. */
  isGathering(place: ChatPlace): boolean
  /**
   * Stores a prompt until all messages of its place have arrived and the policy decides. Commits `removal` with it, which
   * removes it from the inbox.
   */
  addAndGather(entry: QueuedPrompt, removal: readonly Write[]): Promise<void>
  /** Queues an entry that a person chose. Resolves with false if it no longer exists or is not theirs. */
  runEntry(
    place: ChatPlace,
    id: string,
    isOwn: (entry: QueuedPrompt) => boolean,
    requireDue: () => number,
  ): Promise<boolean>
  /** Removes a person's entries of a place. Resolves with the entries of others. Rejects with what `requireDue` throws before. */
  dropEntries(
    place: ChatPlace,
    isOwn: (entry: QueuedPrompt) => boolean,
    requireDue: () => number,
  ): Promise<RemainingBacklog>
  /** Applies the policy to messages that an earlier process stored, and posts lists that it could not post. */
  restoreBacklog(): Promise<void>
  /** Removes entries that are too old to be chosen. */
  removeExpired(): Promise<void>
  /** Clears all timers. The next process continues. */
  stop(): void
  /** Resolves with groups of writes that undo the tries of decisions in progress, see `Tries.giveBack`. */
  undoTries(): Promise<readonly (readonly Write[])[]>
}

/** The backlog of a place after a person removed their entries. */
export interface RemainingBacklog {
  /** How many entries were removed. */
  readonly dropped: number
  /** A message that lists the entries of others. Undefined if there are none. */
  readonly list: ChatMessage | undefined
}

/** How long after a message the next one still counts as the same backlog, in ms. */
const gatherMs = 1500
/** The most buttons and lines of one list. */
const mostListed = 10
/** How long an entry that was not run can be chosen, in ms: 30 days. */
const keptMs = 2_592_000_000
/** The prefix of values that expire then. Entries of queues don't expire themselves. */
const keptPrefix = 'kept/'

/** Whether a message was sent more than `backlogAfterMs` before `now`, by the platform's time. False without that time. */
export function isOldMessage({ postedAt }: MessageRef, backlogAfterMs: number, now: number): boolean {
  return postedAt !== undefined && now - postedAt > backlogAfterMs
}

/** Keeps the backlog in the state. Prompts that are chosen go to the runner's queue. */
export function createBacklog(services: BridgeServices, runner: Runner): Backlog {
  const { state, registry, channels, tries, clock, onError } = services
  const { router } = services.config
  /** Timers by place, from the first message until the policy is applied. */
  const decisionTimers = new Map<string, () => void>()
  /** Timers by place: the next attempt to post the list. */
  const retryTimers = new Map<string, () => void>()
  /** By the key of a place: the ids of the entries that an earlier process may have begun to decide. */
  const restored = new Map<string, ReadonlySet<string>>()
  /** The places whose decision was counted as a try and is in progress. */
  const triedPlaces = new Set<ChatPlace>()
  let isStopped = false
  const queueOf = (place: ChatPlace): string => `backlog/${placeKey(place)}`
  return {
    isGathering: (place) => decisionTimers.has(placeKey(place)),
    addAndGather,
    runEntry,
    dropEntries,
    restoreBacklog,
    removeExpired,
    stop,
    undoTries,
  }

  /** Stores the entry and commits `removal` with it, then starts or restarts the timer of its place. */
  async function addAndGather(entry: QueuedPrompt, removal: readonly Write[]): Promise<void> {
    const value = JSON.stringify({ ...entry, tries: undefined })
    await state.commit([...removal, { type: 'enqueue', queue: queueOf(entry), id: entry.id, value }])
    scheduleDecision(entry)
  }

  /**
   * Applies the policy when no further message arrived for `gatherMs`. Each call starts that time again. Retries while the
   * store fails, and reports other errors.
   */
  function scheduleDecision(place: ChatPlace): void {
    const key = placeKey(place)
    decisionTimers.get(key)?.()
    decisionTimers.set(
      key,
      clock.after(gatherMs, () => {
        void state
          .withRetries(async () => {
            // On a busy machine, messages that arrived with these may not be handled yet.
            if ((await state.queue(`inbox/${key}`)).length > 0) return scheduleDecision(place)
            await decide(place, () => decisionTimers.delete(key))
          })
          .catch((error) => {
            decisionTimers.delete(key)
            onError(error)
          })
      }),
    )
  }

  /**
   * Applies the policy. If an earlier process may have begun that, stores first that this one tries it, too. Puts the undecided
   * and unlisted entries aside if deciding ended the process each time.
   */
  async function decide(place: ChatPlace, onDecided: () => void): Promise<void> {
    const queue = queueOf(place)
    const restoredIDs = restored.get(placeKey(place))
    /** Call it once the try is stored. Before that, a failing store must not make this process forget to count it. */
    const forgetRestored = (): void => void restored.delete(placeKey(place))
    const entries = restoredIDs ? await entriesOf(place) : []
    const due = entries.filter(({ id, left }) => restoredIDs?.has(id) && left !== 'listed')
    const [first] = due
    if (!first) {
      forgetRestored()
      return await applyPolicy(place, onDecided)
    }
    // They are decided together, so any of them may be the cause.
    const next = tries.next(queue, { tries: Math.max(...due.map((entry) => entry.tries ?? 1)) })
    if (!next) {
      const rows = due.map((entry) => ({
        key: queue,
        id: entry.id,
        value: JSON.stringify(entry),
        tries: entry.tries ?? 1,
      }))
      const told = {
        execution: { id: await registry.newID(place), prompt: first, server: '' },
        text: texts.poisonBacklog(due.length),
        removal: due.flatMap(writeRemoval),
      }
      await tries.putAside(queue, rows, told)
      forgetRestored()
      return await applyPolicy(place, onDecided)
    }
    let isBegun = false
    const counted = due.map((entry) => writeEntry({ ...entry, ...next }))
    await tries.make(queue, counted, async () => {
      forgetRestored()
      isBegun = true
      triedPlaces.add(place)
      await applyPolicy(place, onDecided).finally(() => triedPlaces.delete(place))
      // Those whose list could not be posted yet.
      const unlisted = (await entriesOf(place)).filter((entry) => entry.left === 'decided' && isTried(entry))
      for (const entry of unlisted) await state.commit(writeLeft(entry, 'decided'))
    })
    forgetRestored()
    // A person chose one of them meanwhile.
    if (!isBegun && !isStopped) await applyPolicy(place, onDecided)
  }

  /** Reads the entries of the places that are being decided, and returns for each the write that undoes this try. */
  async function undoTries(): Promise<readonly (readonly Write[])[]> {
    const entries = await Promise.all([...triedPlaces].map(entriesOf))
    return entries.flat().flatMap((entry) => (isTried(entry) ? [[writeEntry(withoutLastTry(entry))]] : []))
  }

  /** Returns the write that stores an entry again, in its position. */
  function writeEntry(entry: QueuedPrompt): Write {
    return { type: 'replace', queue: queueOf(entry), id: entry.id, value: JSON.stringify(entry) }
  }

  /**
   * Moves the entries that the policy chooses to the queue of the place and starts it, then posts the list of the others.
   * `latest` chooses the newest old entry unless a newer message arrived, `all` chooses all, `none` chooses none. Messages
   * sent after the start always run, after those. Entries that arrived meanwhile are decided too, and `latest` chooses none
   * of them if `hasChosen`. Calls `onDecided` once no entry is left undecided.
   */
  async function applyPolicy(place: ChatPlace, onDecided: () => void, hasChosen = false): Promise<void> {
    const undecided = (await entriesOf(place)).filter(({ left }) => left === undefined)
    const old = undecided.filter((entry) => entry.isOld)
    const recent = undecided.filter((entry) => !old.includes(entry))
    const chosenCount = { latest: recent.length > 0 || hasChosen ? 0 : 1, all: old.length, none: 0 }[router.backlog]
    const left = old.slice(0, Math.max(0, old.length - chosenCount))
    const chosen = [...old.slice(left.length), ...recent]
    const writes = [
      ...chosen.flatMap((entry) => writesToRun(entry)),
      ...left.flatMap((entry) => writeLeft(entry, 'decided')),
    ]
    if (!(await state.commit(writes)))
      throw new BridgeError('state', `The backlog of ${placeKey(place)} is unreadable.`)
    const hasEarlierRuns = hasChosen || chosen.length > 0
    if ((await entriesOf(place)).some((entry) => entry.left === undefined))
      return await applyPolicy(place, onDecided, hasEarlierRuns)
    onDecided()
    runner.startQueue(place)
    await postList(place, hasEarlierRuns)
  }

  /**
   * Posts the list of entries that were not run and not listed yet, and marks them as listed. Does nothing without such
   * entries. Retries until it is posted or the bridge stops, because people have no other way to learn of them. Reports the
   * first failure.
   */
  async function postList(place: ChatPlace, hasEarlierRuns: boolean, failures = 0): Promise<void> {
    const key = placeKey(place)
    retryTimers.get(key)?.()
    retryTimers.delete(key)
    const unlisted = (await entriesOf(place)).filter(({ left }) => left === 'decided')
    if (unlisted.length === 0 || isStopped) return
    try {
      await channels.post(place, listMessage(unlisted, hasEarlierRuns))
    } catch (error) {
      if (isStopped || isTakenOver(error)) return
      if (failures === 0) onError(toError(error))
      const again = (): void =>
        void state
          .withRetries(() => postList(place, hasEarlierRuns, failures + 1))
          .catch((cause) => isStopped || onError(cause))
      retryTimers.set(key, clock.after(isRefusal(error) ? refusedMs : backOffMs(failures), again))
      return
    }
    // Separate commits: a person may have chosen one already.
    // With retries, because the list must not be posted again.
    for (const entry of unlisted) await state.withRetries(() => state.commit(writeLeft(entry, 'listed')))
  }

  /**
   * Returns the writes that mark an entry as one that the policy did not run, or as one that the chat has a list of. From then
   * on it can be chosen for `keptMs`, by the store's clock.
   */
  function writeLeft(entry: QueuedPrompt, left: QueuedPrompt['left']): readonly Write[] {
    return [
      writeEntry({ ...entry, left, tries: undefined }),
      { type: 'put', key: keptKey(entry), value: '', expiresInMs: keptMs },
    ]
  }

  /** Returns the writes that remove an entry from the backlog. */
  function writeRemoval(entry: QueuedPrompt): readonly Write[] {
    return [
      { type: 'dequeue', queue: queueOf(entry), id: entry.id },
      { type: 'remove', key: keptKey(entry) },
    ]
  }

  /** Returns the writes that move an entry from the backlog to the queue of its place. */
  function writesToRun(entry: QueuedPrompt): readonly Write[] {
    return [...writeRemoval(entry), runner.enqueue({ ...entry, left: undefined })]
  }

  /**
   * Returns a message with the number of entries, the newest of them with a button for each, at most `mostListed`, and a button
   * to leave all.
   */
  function listMessage(left: readonly QueuedPrompt[], hasEarlierRuns: boolean): ChatMessage {
    const shown = left.slice(-mostListed)
    const lines = shown.map(({ text, files }, index) => {
      return `${index + 1}. ${plain(oneLine(text || files.map(({ name }) => name).join(', '), 100))}`
    })
    const title = hasEarlierRuns ? texts.backlogAfter(left.length) : texts.backlog(left.length)
    const buttons = [
      ...inRows(shown.map(({ id }, index) => ({ label: texts.backlogRun(index + 1), data: `b/run/${id}` }))),
      [{ label: texts.backlogDrop, data: 'b/drop' }],
    ]
    return { text: [title, '', ...lines].join('\n'), buttons }
  }

  /**
   * Moves an entry that a person chose to the queue of its place, and starts that queue. Resolves with false if it is no longer
   * in the backlog, or if `isOwn` does not accept it.
   */
  async function runEntry(...[place, id, isOwn, requireDue]: Parameters<Backlog['runEntry']>): Promise<boolean> {
    const entry = (await entriesOf(place)).find((one) => one.id === id)
    if (!entry || !isOwn(entry)) return false
    const isMoved = await state.commit(writesToRun(entry), { requireDue })
    runner.startQueue(place)
    return isMoved
  }

  /**
   * Removes the entries that a person leaves, which `isOwn` accepts, and resolves with their number and a list of the others.
   * Entries that the policy has not decided stay.
   */
  async function dropEntries(
    ...[place, isOwn, requireDue]: Parameters<Backlog['dropEntries']>
  ): Promise<RemainingBacklog> {
    const entries = (await entriesOf(place)).filter(({ left }) => left !== undefined)
    const ownEntries = entries.filter(isOwn)
    // Separate commits: one may have been chosen meanwhile.
    for (const [index, entry] of ownEntries.entries()) {
      const options = index === 0 ? { requireDue } : {}
      await state.withRetries(() => state.commit(writeRemoval(entry), options))
    }
    const others = entries.filter((entry) => !isOwn(entry))
    return { dropped: ownEntries.length, list: others.length > 0 ? listMessage(others, false) : undefined }
  }

  /** Returns the entries of a place, oldest first. */
  async function entriesOf(place: ChatPlace): Promise<readonly QueuedPrompt[]> {
    return (await state.queue(queueOf(place))).map(({ value }) => toQueuedPrompt(value))
  }

  /** Starts a timer for each place with stored entries. The policy then decides, or the list is posted. */
  async function restoreBacklog(): Promise<void> {
    // Reads that wait at the same time are sent together.
    const names = await state.queues('backlog/')
    for (const entries of await Promise.all(names.map((name) => state.queue(name)))) {
      const [first] = entries
      if (!first) continue
      const place = toQueuedPrompt(first.value)
      restored.set(placeKey(place), new Set(entries.map(({ id }) => id)))
      scheduleDecision(place)
    }
  }

  /** Removes the backlog entries of all places that were not run, and that the policy or the list left more than `keptMs` ago. */
  async function removeExpired(): Promise<void> {
    for (const queue of await state.queues('backlog/')) {
      for (const { value } of await state.queue(queue)) {
        const entry = toQueuedPrompt(value)
        const isExpired = entry.left !== undefined && (await state.read(keptKey(entry))) === undefined
        if (isExpired) await state.commit(writeRemoval(entry))
      }
    }
  }

  /** Returns the key of the value that lasts for as long as an entry can be chosen. */
  function keptKey(entry: QueuedPrompt): string {
    return `${keptPrefix}${placeKey(entry)}/${entry.id}`
  }

  /** Clears all timers, and posts no more lists. The stored entries stay. */
  function stop(): void {
    isStopped = true
    for (const stopTimer of [...decisionTimers.values(), ...retryTimers.values()]) stopTimer()
    decisionTimers.clear()
    retryTimers.clear()
  }
}
