import { systemClock } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'
import type { SessionRef } from '../../session-ref.ts'
import type { InputPart } from '../input.ts'
import { createMessageIDs } from '../message-id.ts'
import type { AskAddress, Capabilities, SessionInfo, Source, SourcePrompt, WorkStatus } from '../port.ts'
import { withoutDots } from '../without-dots.ts'
import type { LocalAgent, LocalAgentOptions } from './agent-options.ts'
import { failureOf, partsOf, toAnswer, withoutAbort } from './input.ts'
import type { LocalAnswer } from './output.ts'
import { createRun, type LocalChildStart, type LocalRun, type OwnedRun } from './run.ts'

/** How long an agent may take to end a canceled run, in ms. */
const giveUpMs = 10_000

/**
 * Creates a source for an agent whose sessions live as long as your program, for example a local process, or one
 * process per prompt. It keeps the sessions, the runs with their asks, and the connection's events. Your `options`
 * start, prompt and stop the agent.
 */
export function createLocalAgent(options: LocalAgentOptions): LocalAgent {
  const { name, clock = systemClock, redact = (text) => text } = options
  const sessions = new Map<string, SessionInfo>()
  /** The runs that have not ended, by session: the current one first, then those that wait for its end. */
  const runs = new Map<string, readonly OwnedRun[]>()
  const queue = createEventQueue()
  const ids = createMessageIDs({ clock })
  /** Canceled runs, with the functions that stop their timers. */
  const givingUp = new Map<OwnedRun, () => void>()
  let starting: Promise<void> | undefined
  let isClosed = false
  const source: Source = {
    name,
    isLocal: true,
    connect,
    learn: async () => capabilities(),
    startReading: () => ({ working: async () => working(), session: async (place) => await unreadable(place) }),
    session,
    message: async (place) => await unreadable(place),
    children: async ({ sessionID }) => [...sessions.values()].filter(({ parentID }) => parentID === sessionID),
    working: async () => working(),
    asks: async () => ({ asks: allRuns().flatMap((run) => run.asks()), isWhole: true }),
    sessions: async () => [...sessions.values()].filter(({ parentID }) => parentID === undefined),
    newestTime: async () => [...sessions.values()].map(({ updatedAt = 0 }) => updatedAt).toSorted((a, b) => b - a)[0],
    spelled: async (directory) => (await options.spelled?.(directory)) ?? withoutDots(directory),
    create,
    prompt: async (place, prompt) => await start(place, prompt, partsOf(prompt)),
    command: async (place, { command, arguments: given = '', ...rest }) => {
      const text = `/${command} ${given}`.trim()
      await start(place, { ...rest, text }, [{ type: 'text', text }])
    },
    answer: async (ask, answer, signal) => await settle(ask, toAnswer(answer), signal),
    reject: async (ask, message, signal) => await settle(ask, { type: 'rejected', message }, signal),
    abort,
    models: async (directory) => {
      await ready()
      return (await options.models?.(directory)) ?? []
    },
    ...(options.commands && { commands: options.commands }),
    ...(options.agents && { agents: options.agents }),
    close,
  }
  return { source, session: (id) => sessions.get(id), run: (id) => runs.get(id)?.[0], wake, update, fail }

  async function* connect({ signal }: { readonly signal: AbortSignal }): AsyncIterable<readonly ReplyEvent[]> {
    requireOpen()
    // A slow agent continues to start for the next connection.
    if (!(await withoutAbort(ready(), signal))) return
    queue.open()
    yield [{ type: 'connected', at: clock.now() }]
    yield* queue.read(signal)
  }

  function capabilities(): Capabilities {
    return {
      canRead: false,
      nextMessageID: ids,
      takesPromptsWhileBusy: false,
      queuesPrompts: false,
      showsNotes: false,
      listsEverywhere: true,
      abortsAsks: true,
      ...options.capabilities?.(),
    }
  }

  async function ready(): Promise<void> {
    requireOpen()
    const begun = starting ?? (async () => await options.start?.())()
    starting = begun
    try {
      await begun
    } catch (error) {
      if (starting === begun) starting = undefined
      throw error
    }
    requireOpen()
  }

  async function session(place: SessionRef): Promise<SessionInfo> {
    requireOpen()
    const known = sessions.get(place.sessionID)
    if (known) return known
    await ready()
    const found = await options.find?.(place)
    if (!found) throw new ReplyError('gone', `${name} has no session ${place.sessionID}. Start a new one.`)
    return sessions.get(place.sessionID) ?? update(found)
  }

  async function unreadable(place: SessionRef): Promise<never> {
    await session(place)
    throw new ReplyError(
      'unsupported',
      `${name} does not show the content of its sessions. Read the replies of its runs.`,
    )
  }

  async function create({ directory, ...input }: Parameters<Source['create']>[0]): Promise<SessionInfo> {
    await ready()
    const home = directory === undefined ? undefined : await source.spelled(directory)
    const made = await options.create({ ...input, directory: home })
    const at = clock.now()
    return update({ title: input.title, createdAt: at, updatedAt: at, ...made })
  }

  function update(info: SessionInfo): SessionInfo {
    const next = { ...sessions.get(info.sessionID), ...info }
    sessions.set(info.sessionID, next)
    const { sessionID, directory, parentID, title, createdAt } = next
    queue.push([{ type: 'session', at: clock.now(), sessionID, directory, parentID, title, createdAt }])
    return next
  }

  async function start(place: SessionRef, prompt: SourcePrompt, parts: readonly InputPart[]): Promise<void> {
    const { sessionID, directory } = await session(place)
    await ready()
    if (!queue.isOpen())
      throw new ReplyError(
        'refused',
        `${name} is not connected, so the prompt was not sent. Wait for the connection, then send it again.`,
      )
    if (runs.has(sessionID) && !capabilities().queuesPrompts)
      throw new ReplyError('refused', `Session ${sessionID} runs one prompt at a time. Wait until it is idle.`)
    if (prompt.noReply) throw new ReplyError('unsupported', `${name} stores no notes. Send a prompt without noReply.`)
    const run = addRun({ sessionID, directory }, prompt.messageID ?? ids())
    run.setPrompt(parts)
    try {
      await options.prompt(run, prompt)
      // A run behind another one begins with its first output.
      if (runs.get(sessionID)?.[0] === run) run.begin()
    } catch (error) {
      if (!drop(run)) return run.end({ type: 'failed', error: failureOf(error) })
      throw error
    }
  }

  /** Adds a run behind the session's other runs. */
  function addRun(place: SessionRef, promptID: string, isBackground = false): OwnedRun {
    const run = createRun({
      ...place,
      promptID,
      isBackground,
      nextID: ids,
      now: () => clock.now(),
      emit: queue.push,
      redact,
      startChild: (child) => startChild(place, child),
      onEnd: () => void drop(run),
    })
    runs.set(place.sessionID, [...(runs.get(place.sessionID) ?? []), run])
    const known = sessions.get(place.sessionID)
    if (known) sessions.set(place.sessionID, { ...known, updatedAt: clock.now() })
    return run
  }

  /** Removes a run. Returns whether it had not begun. */
  function drop(run: OwnedRun): boolean {
    const others = (runs.get(run.sessionID) ?? []).filter((other) => other !== run)
    if (others.length > 0) runs.set(run.sessionID, others)
    else runs.delete(run.sessionID)
    givingUp.get(run)?.()
    givingUp.delete(run)
    return !run.hasBegun()
  }

  function wake({ sessionID }: SessionRef, reason: string): LocalRun {
    const current = runs.get(sessionID)?.[0]
    if (current) return current
    const run = addRun({ sessionID, directory: sessions.get(sessionID)?.directory }, ids())
    run.setPrompt([{ type: 'text', text: reason, synthetic: true }])
    run.begin()
    return run
  }

  function startChild(parent: SessionRef, start: LocalChildStart): OwnedRun {
    const { sessionID = ids().replace('msg', 'ses'), title, text, background } = start
    const at = clock.now()
    const { directory } = parent
    update({ sessionID, parentID: parent.sessionID, directory, title, createdAt: at, updatedAt: at })
    const run = addRun({ sessionID, directory }, ids(), background === true)
    if (text !== undefined) run.setPrompt([{ type: 'text', text }])
    run.begin()
    return run
  }

  async function settle(ask: AskAddress, answer: LocalAnswer, signal: AbortSignal | undefined): Promise<void> {
    requireOpen()
    signal?.throwIfAborted()
    const run = runs
      .get(ask.sessionID)
      ?.find((each) => each.asks().some(({ requestID }) => requestID === ask.requestID))
    if (!run)
      throw new ReplyError('gone', `The ask ${ask.requestID} is no longer pending, so there is nothing to answer.`)
    await run.answer(ask.requestID, answer)
  }

  /** Cancels the session's runs, and its sub-agents in the background, which may have outlived the run that began them. */
  async function abort(place: SessionRef): Promise<void> {
    await session(place)
    const canceled = allRuns().filter(
      ({ sessionID, isBackground }) =>
        sessionID === place.sessionID || (isBackground && isBelow(sessionID, place.sessionID)),
    )
    for (const run of canceled) {
      run.cancelAsks()
      giveUpLater(run)
    }
    await Promise.all(canceled.filter(({ isOpen }) => isOpen()).map(async (run) => await options.cancel(run, place)))
  }

  function isBelow(sessionID: string, ancestorID: string): boolean {
    const parentID = sessions.get(sessionID)?.parentID
    return parentID !== undefined && (parentID === ancestorID || isBelow(parentID, ancestorID))
  }

  function allRuns(): readonly OwnedRun[] {
    return [...runs.values()].flat()
  }

  /** Fails the run if the agent ignores the cancel, because its session would take no more prompts. */
  function giveUpLater(run: OwnedRun): void {
    if (givingUp.has(run)) return
    const stop = clock.after(giveUpMs, () => {
      options.kill?.(run)
      const message = `${name} did not stop the run within ${giveUpMs} ms, so the run failed.`
      run.end({ type: 'failed', error: failureOf(new ReplyError('not-stopped', message)) })
    })
    givingUp.set(run, stop)
  }

  function working(): ReadonlyMap<string, WorkStatus> {
    return new Map([...runs.keys()].map((sessionID) => [sessionID, { status: 'busy' }]))
  }

  function fail(error: ReplyError): void {
    starting = undefined
    for (const run of allRuns()) run.end({ type: 'failed', error: failureOf(error) })
    queue.fail(error)
  }

  function requireOpen(): void {
    if (isClosed) throw new ReplyError('closed', `The connection to ${name} was closed. Create a new one.`)
  }

  function close(): void {
    if (isClosed) return
    isClosed = true
    for (const run of allRuns()) run.end({ type: 'aborted' })
    queue.fail(new ReplyError('closed', `The connection to ${name} was closed. Create a new one.`))
    options.close?.()
  }
}

/** The events of the one connection. Without a connection they are dropped, because no source repeats missed events. */
interface EventQueue {
  /** Begins a connection and ends the one before it. */
  open(): void
  isOpen(): boolean
  push(events: readonly ReplyEvent[]): void
  /** Yields the events of the newest connection until the signal aborts. Throws once the connection failed. */
  read(signal: AbortSignal): AsyncIterable<readonly ReplyEvent[]>
  /** Breaks the connection after the events that were pushed so far. */
  fail(error: ReplyError): void
}

interface Channel {
  waiting: ReplyEvent[]
  failure: ReplyError | undefined
  hasEnded: boolean
  wake: () => void
}

function createEventQueue(): EventQueue {
  let channel: Channel | undefined
  return { open, isOpen: () => channel !== undefined && !channel.failure, push, read, fail }

  function open(): void {
    const before = channel
    channel = { waiting: [], failure: undefined, hasEnded: false, wake: () => {} }
    if (!before) return
    before.hasEnded = true
    before.wake()
  }

  function push(events: readonly ReplyEvent[]): void {
    if (!channel || channel.failure || events.length === 0) return
    for (const event of events) channel.waiting.push(event)
    channel.wake()
  }

  async function* read(signal: AbortSignal): AsyncIterable<readonly ReplyEvent[]> {
    const mine = channel
    if (!mine) return
    const wake = (): void => mine.wake()
    signal.addEventListener('abort', wake)
    try {
      while (!signal.aborted && !mine.hasEnded) {
        const events = mine.waiting
        if (events.length > 0) {
          mine.waiting = []
          yield events
        } else if (mine.failure) throw mine.failure
        else
          await new Promise<void>((resolve) => {
            mine.wake = resolve
          })
      }
    } finally {
      signal.removeEventListener('abort', wake)
      if (channel === mine) channel = undefined
    }
  }

  function fail(error: ReplyError): void {
    if (!channel || channel.failure) return
    channel.failure = error
    channel.wake()
  }
}
